use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
pub struct Image {
    #[dlpack(unsafe(ptr, len(bytes) = 4))]
    pixels: *const core::ffi::c_void,
    #[dlpack(owner)]
    file: Vec<u8>,
    shape: [usize; 2],
}

fn main() {}

pub fn compiles_all_the_same(image: &Image) {
    let _ = image.tensor();
}
