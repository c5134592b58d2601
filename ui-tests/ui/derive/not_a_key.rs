use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
pub struct Image {
    #[dlpack("data")]
    pixels: Vec<u8>,
    shape: [usize; 3],
}

fn main() {}

pub fn compiles_all_the_same(image: Image) {
    let _ = image.into_dlpack();
}
