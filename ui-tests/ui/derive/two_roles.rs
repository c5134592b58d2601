use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
pub struct Image {
    data: Vec<u8>,
    #[dlpack(shape, strides)]
    meta: [usize; 3],
}

fn main() {}

pub fn compiles_all_the_same(image: Image) {
    let _ = image.into_dlpack();
}
