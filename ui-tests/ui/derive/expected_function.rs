use dlpack_traits::{DLPackImport, ImportedStorage};

#[derive(DLPackImport)]
#[dlpack(construct(Self::new))]
pub struct ConstructInAList {
    data: ImportedStorage<u8>,
    shape: [usize; 3],
}

#[derive(DLPackImport)]
#[dlpack(construct)]
pub struct ConstructWithoutPath {
    data: ImportedStorage<u8>,
    shape: [usize; 3],
}

#[derive(DLPackImport)]
pub struct DefaultImage {
    data: ImportedStorage<u8>,
    shape: [usize; 3],
    #[dlpack(skip, default = 3)]
    channels: usize,
}

#[derive(DLPackImport)]
#[dlpack(validate = "Self::check")]
pub struct ValidateQuoted {
    data: ImportedStorage<u8>,
    shape: [usize; 3],
}

fn main() {}

pub fn compiles_all_the_same(tensor: fn() -> dlpack_traits::ImportedTensor) {
    let _ = ConstructInAList::from_dlpack(tensor());
    let _ = ConstructWithoutPath::from_dlpack(tensor());
    let _ = DefaultImage::from_dlpack(tensor());
    let _ = ValidateQuoted::from_dlpack(tensor());
}
