use dlpack_traits::{Storage};

#[derive(Storage)]
pub enum Buffer {
    F32(Vec<f32>),
    I64(Vec<i64>, usize),
}

fn main() {}

pub fn compiles_all_the_same(storage: &Buffer) {
    let _ = storage.data();
}
