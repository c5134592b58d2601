use dlpack_traits::{DLPackImport, ImportedStorage};

#[derive(DLPackImport)]
pub struct Field {
    data: ImportedStorage<u8>,
    #[dlpack(copy)]
    shape: [usize; 3],
}

#[derive(DLPackImport)]
#[dlpack(transparent)]
pub struct Transparent(#[dlpack(copy)] ImportedStorage<u8>);

fn main() {}

pub fn compiles_all_the_same(tensor: fn() -> dlpack_traits::ImportedTensor) {
    let _ = Field::from_dlpack(tensor());
    let _ = Transparent::from_dlpack(tensor());
}
