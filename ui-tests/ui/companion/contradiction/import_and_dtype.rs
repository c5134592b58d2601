use dlpack_traits::{Storage, ImportedStorage};

#[derive(Storage)]
pub enum Buffer {
    #[dlpack(import, dtype = F32)]
    Bytes(ImportedStorage<u8>),
}

fn main() {}
