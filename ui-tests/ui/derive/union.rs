use dlpack_traits::{DLPackExport, DLPackImport};

#[derive(DLPackImport)]
pub union Import {
    data: u8,
}

#[derive(DLPackExport)]
pub union Image {
    bytes: [u8; 4],
    float: [f32; 1],
}

fn main() {}

pub fn compiles_all_the_same(image: Image, tensor: fn() -> dlpack_traits::ImportedTensor) {
    let _ = Import::from_dlpack(tensor());
    let _ = image.into_dlpack();
}
