use dlpack_traits::{DLPackExport, DLPackImport, Foreign};

#[derive(DLPackExport, DLPackImport)]
pub struct Image {
    data: Foreign<u8>,
    shape: [usize; 3],
    linesize: usize,
}

fn main() {}

pub fn compiles_all_the_same(tensor: dlpack_traits::Imported) {
    let _ = Image::from_dlpack(tensor);
}
