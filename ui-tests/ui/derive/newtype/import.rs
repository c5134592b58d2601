use dlpack_traits::{DLPackImport, ImportedStorage};

#[derive(DLPackImport)]
pub struct Image(ImportedStorage<u8>);

fn main() {}

pub fn compiles_all_the_same(tensor: dlpack_traits::ImportedTensor) {
    let _ = Image::from_dlpack(tensor);
}
