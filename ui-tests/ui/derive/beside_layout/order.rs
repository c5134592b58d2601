use dlpack_traits::DLPackExport;

pub struct Dense;

#[derive(DLPackExport)]
#[dlpack(order = column_major)]
pub struct Image {
    data: Vec<u8>,
    #[dlpack(layout)]
    placement: Dense,
}

fn main() {}

pub fn compiles_all_the_same(image: Image) {
    let _ = image.into_dlpack();
}
