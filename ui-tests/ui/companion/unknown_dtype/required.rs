use dlpack_traits::{DLPackImport, ImportedStorage};

#[derive(DLPackImport)]
#[dlpack(require(dtype(uint16, F32)))]
pub struct Image {
    data: ImportedStorage,
    shape: [usize; 2],
}

fn main() {}

pub fn compiles_all_the_same(tensor: dlpack_traits::ImportedTensor) {
    let _ = Image::from_dlpack(tensor);
}
