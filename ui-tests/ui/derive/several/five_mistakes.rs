use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
#[dlpack(read_only = true)]
#[repr(packed)]
pub struct Image {
    data: Vec<u8>,
    #[dlpack(data)]
    pixels: Vec<u8>,
    #[dlpack(data)]
    mask: Vec<u8>,
    #[dlpack(strides, byte_offset)]
    layout: [usize; 3],
    #[dlpack(dtyp)]
    element: dlpack_traits::DataType,
    shape: [usize; 3],
}

fn main() {}

pub fn compiles_all_the_same(image: Image) {
    let _ = image.into_dlpack();
}
