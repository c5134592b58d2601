use dlpack_traits::{DLPackImport, ImportedStorage};

#[derive(DLPackImport)]
pub struct Image {
    data: ImportedStorage<u8>,
    shape: [usize; 2],
    id: u64,
}

fn main() {}

pub fn compiles_all_the_same(tensor: dlpack_traits::ImportedTensor) {
    let _ = Image::from_dlpack(tensor);
}
