use dlpack_traits::{DLPackImport, ImportedStorage};

#[derive(DLPackImport)]
pub struct Image {
    data: ImportedStorage<u8>,
    shape: [usize; 3],
    #[dlpack(default)]
    byte_offset: usize,
}

fn main() {}

pub fn compiles_all_the_same(tensor: fn() -> dlpack_traits::ImportedTensor) {
    let _ = Image::from_dlpack(tensor());
}
