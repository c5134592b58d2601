use dlpack_traits::{Storage, Foreign};

#[derive(Storage)]
pub enum Buffer {
    #[dlpack(import, dtype = F32)]
    Bytes(Foreign<u8>),
}

fn main() {}
