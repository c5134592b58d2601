use dlpack_traits::{Storage};

#[derive(Storage)]
pub struct Buffer {
    #[dlpack(skip)]
    data: Vec<f32>,
}

fn main() {}

pub fn compiles_all_the_same(storage: &Buffer) {
    let _ = storage.data();
}
