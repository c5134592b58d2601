use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
pub struct Image {
    data: *mut f32,
    len: usize,
    shape: [usize; 2],
}

fn main() {}

pub fn compiles_all_the_same(image: &Image) {
    let _ = image.tensor();
}
