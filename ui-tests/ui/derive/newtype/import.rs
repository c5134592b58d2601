use dlpack_traits::{DLPackImport, Foreign};

#[derive(DLPackImport)]
pub struct Image(Foreign<u8>);

fn main() {}

pub fn compiles_all_the_same(tensor: dlpack_traits::Imported) {
    let _ = Image::from_dlpack(tensor);
}
