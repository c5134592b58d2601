use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
#[dlpack(shape)]
pub struct Image {
    data: Vec<u8>,
}

#[derive(DLPackExport)]
#[dlpack(strides)]
pub struct Strided {
    data: Vec<u8>,
    shape: [usize; 2],
}

#[derive(DLPackExport)]
#[dlpack(byte_strides)]
pub struct InBytes {
    data: Vec<u8>,
    shape: [usize; 2],
}

fn main() {}

pub fn compiles_all_the_same(
    image: Image,
    strided: Strided,
    in_bytes: InBytes,
) {
    let _ = image.into_dlpack();
    let _ = strided.into_dlpack();
    let _ = in_bytes.into_dlpack();
}
