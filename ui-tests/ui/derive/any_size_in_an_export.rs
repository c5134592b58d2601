use dlpack_traits::{DLPackExport, DLPackImport, ImportedStorage};

#[derive(DLPackExport, DLPackImport)]
#[dlpack(shape(_, 3))]
pub struct Points {
    data: ImportedStorage<f32>,
}

#[derive(DLPackImport)]
#[dlpack(shape(_ + 1, 3))]
pub struct Computed {
    data: ImportedStorage<f32>,
}

fn main() {}

pub fn compiles_all_the_same(points: Points, tensor: fn() -> dlpack_traits::ImportedTensor) {
    let _ = points.tensor();
    let _ = Points::from_dlpack(tensor());
    let _ = Computed::from_dlpack(tensor());
}
