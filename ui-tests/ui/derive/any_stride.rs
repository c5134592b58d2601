use dlpack_traits::{DLPackImport, ImportedStorage};

#[derive(DLPackImport)]
#[dlpack(shape(rows, 3), strides(_, 1))]
pub struct Points {
    data: ImportedStorage<f32>,
    rows: usize,
}

fn main() {}

pub fn compiles_all_the_same(tensor: fn() -> dlpack_traits::ImportedTensor) {
    let _ = Points::from_dlpack(tensor());
}
