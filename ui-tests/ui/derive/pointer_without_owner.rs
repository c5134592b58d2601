use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
pub struct Image {
    #[dlpack(unsafe(ptr, len(elements) = size))]
    pixels: *mut f32,
    file: Vec<f32>,
    size: usize,
    shape: [usize; 2],
}

fn main() {}

pub fn compiles_all_the_same(image: &Image) {
    let _ = image.tensor();
}
