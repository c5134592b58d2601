use dlpack_traits::{DLPackImport, ImportedStorage};

#[derive(DLPackImport)]
#[dlpack(shape(rows, columns), strides(columns, 1))]
pub struct Dimension {
    data: ImportedStorage<f32>,
    rows: usize,
    columns: usize,
}

#[derive(DLPackImport)]
#[dlpack(shape(rows, columns), strides(step, step))]
pub struct Stride {
    data: ImportedStorage<f32>,
    rows: usize,
    columns: usize,
    step: usize,
}

#[derive(DLPackImport)]
#[dlpack(shape(rows, 3), offset(elements) = rows)]
pub struct Offset {
    data: ImportedStorage<f32>,
    rows: usize,
}

fn main() {}

pub fn compiles_all_the_same(tensor: fn() -> dlpack_traits::ImportedTensor) {
    let _ = Dimension::from_dlpack(tensor());
    let _ = Stride::from_dlpack(tensor());
    let _ = Offset::from_dlpack(tensor());
}
