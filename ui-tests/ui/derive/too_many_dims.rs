use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
#[dlpack(shape(1, 1, 1, 1, 1, 1, 1, 1, 9))]
pub struct Image {
    data: Vec<u8>,
}

fn main() {}

pub fn compiles_all_the_same(image: Image) {
    let _ = image.into_dlpack();
}
