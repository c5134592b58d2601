use dlpack_traits::{DLPackImport, ImportedStorage};

#[derive(DLPackImport)]
#[dlpack(require(device = "cuda:0"))]
pub struct DeviceImage {
    data: ImportedStorage<u8>,
    shape: Vec<usize>,
}

#[derive(DLPackImport)]
#[dlpack(require(dtype(U8, 16)))]
pub struct Dtype {
    data: ImportedStorage<u8>,
    shape: Vec<usize>,
}

#[derive(DLPackImport)]
#[dlpack(require(dtype()))]
pub struct EmptyDtypes {
    data: ImportedStorage<u8>,
    shape: Vec<usize>,
}

#[derive(DLPackImport)]
#[dlpack(require(rank))]
pub struct NoRank {
    data: ImportedStorage<u8>,
    shape: Vec<usize>,
}

#[derive(DLPackImport)]
#[dlpack(require(rank = three))]
pub struct Rank {
    data: ImportedStorage<u8>,
    shape: Vec<usize>,
}

#[derive(DLPackImport)]
#[dlpack(require(device(cpu, gpu)))]
pub struct UnknownDevice {
    data: ImportedStorage<u8>,
    shape: Vec<usize>,
}

fn main() {}

pub fn compiles_all_the_same(tensor: fn() -> dlpack_traits::ImportedTensor) {
    let _ = DeviceImage::from_dlpack(tensor());
    let _ = Dtype::from_dlpack(tensor());
    let _ = EmptyDtypes::from_dlpack(tensor());
    let _ = NoRank::from_dlpack(tensor());
    let _ = Rank::from_dlpack(tensor());
    let _ = UnknownDevice::from_dlpack(tensor());
}
