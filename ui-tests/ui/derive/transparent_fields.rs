use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
#[dlpack(transparent)]
pub struct NoneImage {
    #[dlpack(skip)]
    name: String,
}

#[derive(DLPackExport)]
#[dlpack(transparent)]
pub struct Two(Tensor, String);

#[derive(DLPackExport)]
pub struct Tensor {
    data: Vec<u8>,
    shape: [usize; 2],
}

fn main() {}

pub fn compiles_all_the_same(none_image: NoneImage, two: Two) {
    let _ = none_image.into_dlpack();
    let _ = two.into_dlpack();
}
