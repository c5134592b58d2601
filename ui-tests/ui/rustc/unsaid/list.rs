use dlpack_traits::DLPackExport;

type Dims = [usize; 2];

#[derive(DLPackExport)]
pub struct Image {
    data: Vec<u8>,
    shape: [usize; 2],
    row: Option<Dims>,
}

fn main() {}

pub fn compiles_all_the_same(image: Image) {
    let _ = image.into_dlpack();
}
