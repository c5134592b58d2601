use dlpack_traits::{DLPackImport, Foreign};

#[derive(DLPackImport)]
#[dlpack(require(rank))]
pub struct Image {
    data: Foreign<u8>,
    shape: Vec<usize>,
}

fn main() {}

pub fn compiles_all_the_same(tensor: dlpack_traits::Imported) {
    let _ = Image::from_dlpack(tensor);
}
