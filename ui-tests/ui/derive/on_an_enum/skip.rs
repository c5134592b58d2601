use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
#[dlpack(skip(data))]
pub enum Image {
    Of(dlpack_traits::ImportedStorage<u8>),
}

fn main() {}

pub fn compiles_all_the_same(image: Image) {
    let _ = image.into_dlpack();
}
