use dlpack_traits::Storage;

#[derive(Storage)]
pub struct Struct {
    data: Vec<f32>,
    id: u64,
}

#[derive(Storage)]
pub enum Variant {
    F32(Vec<f32>),
    I64(Vec<i64>, usize),
}

fn main() {}

pub fn compiles_all_the_same(struct_storage: &Struct, variant: &Variant) {
    let _ = struct_storage.data();
    let _ = variant.data();
}
