use dlpack_traits::{DLPackImport, DataType, ImportedStorage};

pub struct Theirs;

pub fn to_dtype(_: &Theirs) -> DataType {
    DataType::U8
}

pub fn to_text(_: DataType) -> &'static str {
    "u8"
}

pub fn from_text(_: String) -> Theirs {
    Theirs
}

#[derive(DLPackImport)]
pub struct Result {
    data: ImportedStorage,
    shape: Vec<usize>,
    #[dlpack(dtype, with(to_dtype, to_text))]
    kind: Theirs,
}

#[derive(DLPackImport)]
pub struct Argument {
    data: ImportedStorage,
    shape: Vec<usize>,
    #[dlpack(dtype, with(to_dtype, from_text))]
    kind: Theirs,
}

fn main() {}
