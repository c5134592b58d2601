use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
#[dlpack(crate = Self::inner)]
pub struct Image {
    data: Vec<u8>,
    shape: [usize; 3],
}

fn main() {}

pub fn compiles_all_the_same(image: Image) {
    let _ = image.into_dlpack();
}
