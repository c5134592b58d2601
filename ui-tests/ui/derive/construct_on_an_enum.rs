use dlpack_traits::{DLPackImport, ImportedStorage};

#[derive(DLPackImport)]
#[dlpack(construct = Image::new)]
pub enum Image {
    Bytes(ImportedStorage<u8>),
}

impl Image {
    pub fn new(bytes: ImportedStorage<u8>) -> Result<Self, &'static str> {
        Ok(Self::Bytes(bytes))
    }
}

fn main() {}

pub fn compiles_all_the_same(tensor: fn() -> dlpack_traits::ImportedTensor) {
    let _ = Image::from_dlpack(tensor());
}
