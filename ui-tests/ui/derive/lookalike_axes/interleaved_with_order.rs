use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
#[dlpack(shape(height, width), order = column_major)]
pub struct Image {
    data: Vec<u8>,
    height: usize,
    width: usize,
    interleaved: bool,
}

fn main() {}

pub fn compiles_all_the_same(image: Image) {
    let _ = image.into_dlpack();
}
