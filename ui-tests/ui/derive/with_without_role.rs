use dlpack_traits::{DLPackExport, DataType};

pub enum Kind {
    Float,
}

fn to_dtype(_: &Kind) -> DataType {
    DataType::F32
}

#[derive(DLPackExport)]
pub struct NoRole {
    data: Vec<u8>,
    shape: [usize; 1],
    #[dlpack(with = to_dtype)]
    kind: Kind,
}

#[derive(DLPackExport)]
pub struct Storage {
    #[dlpack(data, with = Vec::as_slice)]
    bytes: Vec<u8>,
    shape: [usize; 1],
}

fn main() {}

pub fn compiles_all_the_same(no_role: NoRole, storage: Storage) {
    let _ = no_role.into_dlpack();
    let _ = storage.into_dlpack();
}
