use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
#[dlpack(shape(3, 4) = size, read_only)]
pub struct Image {
    data: Vec<u8>,
}

fn main() {}

pub fn compiles_all_the_same(image: Image) {
    let _ = image.into_dlpack();
}
