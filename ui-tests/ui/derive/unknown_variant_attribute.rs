use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
pub enum Image {
    #[dlpack(ignore)]
    Text(Vec<String>),
}

fn main() {}

pub fn compiles_all_the_same(image: Image) {
    let _ = image.into_dlpack();
}
