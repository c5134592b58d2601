use dlpack_traits::{DLPackImport, ImportedStorage};

#[derive(DLPackImport)]
#[dlpack(shape(self.rows(), 2))]
pub struct Rows {
    data: ImportedStorage<f32>,
}

impl Rows {
    pub fn rows(&self) -> usize {
        2
    }
}

fn main() {}

pub fn compiles_all_the_same(tensor: fn() -> dlpack_traits::ImportedTensor) {
    let _ = Rows::from_dlpack(tensor());
}
