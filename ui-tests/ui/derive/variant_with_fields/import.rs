use dlpack_traits::{DLPackImport, ImportedStorage};

#[derive(DLPackImport)]
pub enum Image {
    Bytes(ImportedStorage<u8>, String),
}

fn main() {}

pub fn compiles_all_the_same(tensor: dlpack_traits::ImportedTensor) {
    let _ = Image::from_dlpack(tensor);
}
