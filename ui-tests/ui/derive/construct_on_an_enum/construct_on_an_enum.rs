use dlpack_traits::{DLPackImport, Foreign};

#[derive(DLPackImport)]
#[dlpack(construct = Image::new)]
pub enum Image {
    Bytes(Foreign<u8>),
}

impl Image {
    pub fn new(bytes: Foreign<u8>) -> Result<Self, &'static str> {
        Ok(Self::Bytes(bytes))
    }
}

fn main() {}

pub fn compiles_all_the_same(tensor: dlpack_traits::Imported) {
    let _ = Image::from_dlpack(tensor);
}
