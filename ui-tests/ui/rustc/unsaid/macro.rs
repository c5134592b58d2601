use dlpack_traits::DLPackExport;

macro_rules! px {
    () => { u32 };
}

#[derive(DLPackExport)]
pub struct Image {
    data: Vec<u8>,
    shape: [usize; 2],
    row: px!(),
}

fn main() {}

pub fn compiles_all_the_same(image: Image) {
    let _ = image.into_dlpack();
}
