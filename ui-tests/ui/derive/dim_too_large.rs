use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
#[dlpack(shape(18446744073709551615, 3))]
pub struct Image {
    data: Vec<u8>,
}

#[derive(DLPackExport)]
#[dlpack(strides(9223372036854775808, 1))]
pub struct Strided {
    data: Vec<u8>,
    shape: [usize; 2],
}

fn main() {}

pub fn compiles_all_the_same(
    image: Image,
    strided: Strided,
) {
    let _ = image.into_dlpack();
    let _ = strided.into_dlpack();
}
