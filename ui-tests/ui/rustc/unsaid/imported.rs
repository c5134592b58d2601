use dlpack_traits::{DLPackImport, ImportedStorage};

type Px = u32;

#[derive(DLPackImport)]
pub struct Image {
    data: ImportedStorage<u8>,
    shape: [usize; 2],
    #[dlpack(default)]
    row: Px,
}

fn main() {}
