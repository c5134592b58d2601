use dlpack_traits::DLPackExport;

type Duration = u64;

#[derive(DLPackExport)]
pub struct Image {
    data: Vec<u8>,
    shape: [usize; 2],
    row: Duration,
}

fn main() {}

pub fn compiles_all_the_same(image: Image) {
    let _ = image.into_dlpack();
}
