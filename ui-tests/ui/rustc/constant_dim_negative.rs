use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
#[dlpack(shape(2, Self::WIDTH))]
pub struct Image {
    data: Vec<u8>,
}

impl Image {
    const WIDTH: i32 = -3;
}

fn main() {}

pub fn compiles_all_the_same(image: Image) {
    let _ = image.into_dlpack();
}
