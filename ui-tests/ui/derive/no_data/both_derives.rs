use dlpack_traits::{DLPackExport, DLPackImport};

#[derive(DLPackExport, DLPackImport)]
pub struct Image {
    pixels: Vec<u8>,
    shape: [usize; 3],
}

fn main() {}

pub fn compiles_all_the_same(tensor: dlpack_traits::ImportedTensor) {
    let _ = Image::from_dlpack(tensor);
}
