use dlpack_traits::{DLPackExport, DLPackImport, ImportedStorage};

#[derive(DLPackImport)]
pub enum Import {
    Bytes(ImportedStorage<u8>, String),
}

#[derive(DLPackExport)]
pub enum Named {
    Bytes { data: Vec<u8>, shape: [usize; 2] },
}

#[derive(DLPackExport)]
pub enum Tuple {
    Bytes(Tensor, String),
}

#[derive(DLPackExport)]
pub struct Tensor {
    data: Vec<u8>,
    shape: [usize; 2],
}

fn main() {}

pub fn compiles_all_the_same(
    named: Named,
    tuple: Tuple,
    tensor: fn() -> dlpack_traits::ImportedTensor,
) {
    let _ = Import::from_dlpack(tensor());
    let _ = named.into_dlpack();
    let _ = tuple.into_dlpack();
}
