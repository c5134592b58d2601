use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
#[dlpack(dtype = dlpack_traits::DataType::BF17)]
pub struct Image {
    data: Vec<u8>,
    shape: [usize; 2],
}

fn main() {}

pub fn compiles_all_the_same(image: Image) {
    let _ = image.into_dlpack();
}
