use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
#[dlpack(transparent)]
pub struct Image {
    #[dlpack(skip)]
    name: String,
}

fn main() {}

pub fn compiles_all_the_same(image: Image) {
    let _ = image.into_dlpack();
}
