use dlpack_traits::{DLPackImport, DataType, ImportedStorage};

pub enum Kind {
    Float,
}

fn to_dtype(_: &Kind) -> DataType {
    DataType::F32
}

#[derive(DLPackImport)]
pub struct Blob {
    data: ImportedStorage<f32>,
    shape: [usize; 1],
    #[dlpack(dtype, with = to_dtype)]
    kind: Kind,
}

fn main() {}

pub fn compiles_all_the_same(tensor: fn() -> dlpack_traits::ImportedTensor) {
    let _ = Blob::from_dlpack(tensor());
    let _ = to_dtype(&Kind::Float);
}
