use dlpack_traits::{DLPackImport, ImportedStorage};

#[derive(DLPackImport)]
#[dlpack(transparent)]
pub struct Image(#[dlpack(copy)] ImportedStorage<u8>);

fn main() {}

pub fn compiles_all_the_same(tensor: dlpack_traits::ImportedTensor) {
    let _ = Image::from_dlpack(tensor);
}
