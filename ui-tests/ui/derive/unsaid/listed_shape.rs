use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
#[dlpack(shape(height, width))]
pub struct Image {
    data: Vec<u8>,
    height: u32,
    width: u32,
    depth: u32,
}

fn main() {}

pub fn compiles_all_the_same(image: Image) {
    let _ = image.into_dlpack();
}
