use dlpack_traits::{DLPackImport, ImportedStorage};

#[derive(DLPackImport)]
#[dlpack(construct = NoResult::new)]
pub struct NoResult {
    data: ImportedStorage<u8>,
    shape: [usize; 3],
}

impl NoResult {
    fn new(data: ImportedStorage<u8>, shape: [usize; 3]) -> Self {
        Self { data, shape }
    }
}

#[derive(DLPackImport)]
#[dlpack(construct = OtherOrder::new)]
pub struct OtherOrder {
    data: ImportedStorage<u8>,
    shape: [usize; 3],
}

impl OtherOrder {
    fn new(shape: [usize; 3], data: ImportedStorage<u8>) -> Result<Self, &'static str> {
        Ok(Self { data, shape })
    }
}

fn main() {}

pub fn compiles_all_the_same(tensor: fn() -> dlpack_traits::ImportedTensor) {
    let _ = NoResult::from_dlpack(tensor());
    let _ = OtherOrder::from_dlpack(tensor());
}
