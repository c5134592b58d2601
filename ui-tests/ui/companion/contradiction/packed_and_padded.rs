use dlpack_traits::{Storage};

#[derive(Storage)]
pub enum Buffer {
    #[dlpack(dtype = FLOAT4_E2M1FN, packed, padded)]
    F4(Vec<u8>),
}

fn main() {}

pub fn compiles_all_the_same(storage: &Buffer) {
    let _ = storage.data();
}
