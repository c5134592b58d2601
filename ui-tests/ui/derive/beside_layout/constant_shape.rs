use dlpack_traits::DLPackExport;

pub struct Dense;

#[derive(DLPackExport)]
#[dlpack(shape(2, 2))]
pub struct Image {
    data: Vec<u8>,
    #[dlpack(layout)]
    placement: Dense,
}

fn main() {}

pub fn compiles_all_the_same(image: Image) {
    let _ = image.into_dlpack();
}
