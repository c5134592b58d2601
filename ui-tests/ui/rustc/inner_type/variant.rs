use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
pub enum Image {
    Bytes(Vec<u8>),
    Tensor(Tensor),
}

#[derive(DLPackExport)]
pub struct Tensor {
    data: Vec<u8>,
    shape: [usize; 2],
}

fn main() {}

pub fn compiles_all_the_same(image: Image) {
    let _ = image.into_dlpack();
}
