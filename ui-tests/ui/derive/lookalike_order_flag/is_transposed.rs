use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
#[dlpack(shape(height, width))]
pub struct Image {
    data: Vec<u8>,
    height: usize,
    width: usize,
    is_transposed: bool,
}

fn main() {}

pub fn compiles_all_the_same(image: Image) {
    let _ = image.into_dlpack();
}
