use dlpack_traits::{DLPackExport, DLPackImport, ImportedStorage};

#[derive(DLPackImport)]
pub enum Import {
    Bytes(ImportedStorage<u8>),
    Text,
}

#[derive(DLPackExport)]
pub enum SkippedField {
    Bytes(Tensor),
    Named(#[dlpack(skip)] String),
}

#[derive(DLPackExport)]
pub struct Tensor {
    data: Vec<u8>,
    shape: [usize; 2],
}

#[derive(DLPackExport)]
pub enum Unit {
    Bytes(Tensor),
    Empty,
}

fn main() {}

pub fn compiles_all_the_same(
    skipped_field: SkippedField,
    unit: Unit,
    tensor: fn() -> dlpack_traits::ImportedTensor,
) {
    let _ = Import::from_dlpack(tensor());
    let _ = skipped_field.into_dlpack();
    let _ = unit.into_dlpack();
}
