use dlpack_traits::{DLPackImport, ImportedStorage};

#[derive(DLPackImport)]
#[dlpack(require = cpu)]
pub struct Assigned {
    data: ImportedStorage<u8>,
    shape: [usize; 3],
}

#[derive(DLPackImport)]
#[dlpack(require())]
pub struct Empty {
    data: ImportedStorage<u8>,
    shape: [usize; 3],
}

#[derive(DLPackImport)]
#[dlpack(require)]
pub struct Nothing {
    data: ImportedStorage<u8>,
    shape: [usize; 3],
}

fn main() {}

pub fn compiles_all_the_same(tensor: fn() -> dlpack_traits::ImportedTensor) {
    let _ = Assigned::from_dlpack(tensor());
    let _ = Empty::from_dlpack(tensor());
    let _ = Nothing::from_dlpack(tensor());
}
