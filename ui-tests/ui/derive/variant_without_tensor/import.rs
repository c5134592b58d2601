use dlpack_traits::{DLPackImport, Foreign};

#[derive(DLPackImport)]
pub enum Image {
    Bytes(Foreign<u8>),
    Text,
}

fn main() {}

pub fn compiles_all_the_same(tensor: dlpack_traits::Imported) {
    let _ = Image::from_dlpack(tensor);
}
