use dlpack_traits::{AnyElement, DLPackImport, ImportedStorage};

#[derive(DLPackImport)]
#[dlpack(require(device(ext_dev)))]
pub struct OnChip {
    data: ImportedStorage<f32>,
    shape: [usize; 1],
}

#[derive(DLPackImport)]
#[dlpack(require(device(ext_dev)))]
pub struct AnyOnChip {
    data: ImportedStorage<AnyElement>,
    shape: [usize; 1],
}

#[derive(DLPackImport)]
#[dlpack(require(device(cuda, cuda_host)))]
pub struct Pinned {
    data: ImportedStorage<f32>,
    shape: [usize; 1],
}

fn main() {}
