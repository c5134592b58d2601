use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
#[dlpack(shape(2, 2))]
pub struct Image {
    data: Vec<u8>,
    #[dlpack(ndim)]
    ndim: usize,
}

#[derive(DLPackExport)]
#[dlpack(shape(2, 2), ndim = 2)]
pub struct Stated {
    data: Vec<u8>,
}

fn main() {}

pub fn compiles_all_the_same(image: Image, stated: Stated) {
    let _ = image.into_dlpack();
    let _ = stated.into_dlpack();
}
