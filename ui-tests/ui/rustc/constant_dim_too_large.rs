use dlpack_traits::DLPackExport;

pub const WIDTH: u64 = u64::MAX;

#[derive(DLPackExport)]
#[dlpack(shape(2, WIDTH))]
pub struct Image {
    data: Vec<u8>,
}

fn main() {}

pub fn compiles_all_the_same(image: Image) {
    let _ = image.into_dlpack();
}
