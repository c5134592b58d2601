use dlpack_traits::{DLPackImport, ImportedStorage};

#[derive(DLPackImport)]
pub struct Image {
    data: ImportedStorage<u8>,
    shape: [usize; 3],
    channels_last: bool,
}

fn main() {}

pub fn compiles_all_the_same(tensor: dlpack_traits::ImportedTensor) {
    let _ = Image::from_dlpack(tensor);
}
