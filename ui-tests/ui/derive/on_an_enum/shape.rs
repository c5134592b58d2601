use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
#[dlpack(shape(2, 2))]
pub enum Image {
    Bytes(Tensor),
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
