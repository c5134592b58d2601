use dlpack_traits::{DLPackExport, DLPackImport, ImportedStorage};

#[derive(DLPackExport)]
pub struct Crate {
    #[dlpack(crate = dlpack_traits)]
    data: Vec<u8>,
    shape: [usize; 3],
}

#[derive(DLPackExport)]
pub struct ReadOnly {
    #[dlpack(read_only)]
    data: Vec<u8>,
    shape: [usize; 3],
}

#[derive(DLPackImport)]
pub struct Require {
    #[dlpack(data, require(rank = 3))]
    data: ImportedStorage<u8>,
    shape: Vec<usize>,
}

#[derive(DLPackExport)]
pub struct Spare {
    #[dlpack(spare_capacity)]
    data: Vec<u8>,
    shape: [usize; 2],
}

#[derive(DLPackExport)]
pub struct Transparent {
    #[dlpack(transparent)]
    data: Vec<u8>,
    shape: [usize; 2],
}

#[derive(DLPackExport)]
pub struct InBytes {
    data: Vec<u8>,
    shape: [usize; 2],
    #[dlpack(byte_strides)]
    steps: [usize; 2],
}

fn main() {}

pub fn compiles_all_the_same(
    crate_image: Crate,
    read_only: ReadOnly,
    spare: Spare,
    transparent: Transparent,
    in_bytes: InBytes,
    tensor: fn() -> dlpack_traits::ImportedTensor,
) {
    let _ = crate_image.into_dlpack();
    let _ = read_only.into_dlpack();
    let _ = spare.into_dlpack();
    let _ = Require::from_dlpack(tensor());
    let _ = transparent.into_dlpack();
    let _ = in_bytes.into_dlpack();
}
