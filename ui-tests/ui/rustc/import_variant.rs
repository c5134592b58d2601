use dlpack_traits::{Storage};

#[derive(Storage)]
pub enum Buffer {
    #[dlpack(import)]
    Bytes(Vec<u8>),
}

fn main() {}
