use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
#[dlpack(shape(2, 2))]
pub struct Image {
    data: Vec<u8>,
    #[dlpack(ndim)]
    ndim: usize,
}

fn main() {}

pub fn compiles_all_the_same(image: Image) {
    let _ = image.into_dlpack();
}
