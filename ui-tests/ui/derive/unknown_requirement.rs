use dlpack_traits::{DLPackImport, ImportedStorage};

#[derive(DLPackImport)]
#[dlpack(require(shape(3, 4), rank = 2))]
pub struct Image {
    data: ImportedStorage<u8>,
    shape: Vec<usize>,
}

fn main() {}

pub fn compiles_all_the_same(tensor: fn() -> dlpack_traits::ImportedTensor) {
    let _ = Image::from_dlpack(tensor());
}
