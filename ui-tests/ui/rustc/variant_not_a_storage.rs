use dlpack_traits::{Storage};

#[derive(Storage)]
pub enum Buffer {
    F32(Vec<f32>),
    Text(Vec<String>),
}

fn main() {}

pub fn compiles_all_the_same(storage: &Buffer) {
    let _ = storage.data();
}
