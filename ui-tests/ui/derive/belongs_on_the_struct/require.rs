use dlpack_traits::{DLPackImport, Foreign};

#[derive(DLPackImport)]
pub struct Image {
    #[dlpack(data, require(rank = 3))]
    data: Foreign<u8>,
    shape: Vec<usize>,
}

fn main() {}

pub fn compiles_all_the_same(tensor: dlpack_traits::Imported) {
    let _ = Image::from_dlpack(tensor);
}
