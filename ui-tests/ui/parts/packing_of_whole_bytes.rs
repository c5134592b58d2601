use dlpack_traits::Storage;

#[derive(Storage)]
pub enum Buffer {
    #[dlpack(dtype = FLOAT8_E5M2, padded)]
    F8(Vec<u8>),
}

fn main() {}

pub fn compiles_all_the_same(buffer: &Buffer) {
    let _ = buffer.data();
}
