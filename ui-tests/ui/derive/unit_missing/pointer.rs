use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
pub struct Image {
    #[dlpack(unsafe(ptr, len = size))]
    pixels: *const u8,
    #[dlpack(owner)]
    file: Vec<u8>,
    size: usize,
    shape: [usize; 2],
}

fn main() {}

pub fn compiles_all_the_same(image: &Image) {
    let _ = image.tensor();
}
