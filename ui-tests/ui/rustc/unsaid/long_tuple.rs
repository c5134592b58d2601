use dlpack_traits::DLPackExport;

type Window = (usize, usize, usize, usize, usize, usize);

#[derive(DLPackExport)]
pub struct Image {
    data: Vec<u8>,
    shape: [usize; 2],
    window: Window,
}

fn main() {}

pub fn compiles_all_the_same(image: Image) {
    let _ = image.into_dlpack();
}
