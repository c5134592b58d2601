use dlpack_traits::DLPackExport;

#[derive(Clone, Copy)]
pub struct Level(u16);

#[derive(DLPackExport)]
pub struct Image {
    data: Box<[Level]>,
    shape: [usize; 3],
}

fn main() {}

pub fn compiles_all_the_same(image: Image) {
    let _ = image.into_dlpack();
}
