use dlpack_traits::{DLPackExport, DLPackImport, ImportedStorage};

#[derive(DLPackImport)]
#[dlpack(default)]
pub struct DefaultImage {
    data: ImportedStorage<u8>,
    shape: Vec<usize>,
}

#[derive(DLPackExport)]
#[dlpack(offset(bytes))]
pub struct Offset {
    data: Vec<u8>,
    shape: [usize; 2],
}

#[derive(DLPackExport)]
#[dlpack(sync = job)]
pub struct WithAField {
    data: Vec<u8>,
    shape: [usize; 2],
    job: Option<dlpack_traits::SharedBuffer<u8>>,
}

fn main() {}

pub fn compiles_all_the_same(
    offset: Offset,
    with_a_field: WithAField,
    tensor: fn() -> dlpack_traits::ImportedTensor,
) {
    let _ = DefaultImage::from_dlpack(tensor());
    let _ = offset.into_dlpack();
    let _ = with_a_field.into_dlpack();
}
