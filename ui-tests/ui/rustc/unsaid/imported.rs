use dlpack_traits::{DLPackImport, Foreign};

type Px = u32;

#[derive(DLPackImport)]
pub struct Image {
    data: Foreign<u8>,
    shape: [usize; 2],
    #[dlpack(default)]
    row: Px,
}

fn main() {}
