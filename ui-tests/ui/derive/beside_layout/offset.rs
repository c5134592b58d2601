use dlpack_traits::DLPackExport;

pub struct Dense;

#[derive(DLPackExport)]
pub struct Image {
    data: Vec<u8>,
    #[dlpack(layout)]
    placement: Dense,
    #[dlpack(offset(bytes))]
    start: usize,
}

fn main() {}

pub fn compiles_all_the_same(image: Image) {
    let _ = image.into_dlpack();
}
