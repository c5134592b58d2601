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

#[derive(DLPackImport)]
#[dlpack(strides(1, self.column()))]
pub struct Columns {
    data: ImportedStorage<f32>,
    shape: [usize; 2],
}

impl Columns {
    pub fn column(&self) -> usize {
        2
    }
}

#[derive(DLPackImport)]
#[dlpack(offset(bytes) = self.start())]
pub struct Shifted {
    data: ImportedStorage<f32>,
    shape: [usize; 2],
}

impl Shifted {
    pub fn start(&self) -> usize {
        4
    }
}

fn main() {}

pub fn compiles_all_the_same(
    tensor: fn() -> dlpack_traits::ImportedTensor,
    other: fn() -> dlpack_traits::ImportedTensor,
    third: fn() -> dlpack_traits::ImportedTensor,
) {
    let _ = Rows::from_dlpack(tensor());
    let _ = Columns::from_dlpack(other());
    let _ = Shifted::from_dlpack(third());
}
