use dlpack_traits::{DLPackImport, Foreign};

#[derive(DLPackImport)]
pub struct Image {
    data: Foreign<u8>,
    shape: [usize; 3],
    #[dlpack(skip, default = 3)]
    channels: usize,
}

fn main() {}

pub fn compiles_all_the_same(tensor: dlpack_traits::Imported) {
    let _ = Image::from_dlpack(tensor);
}
