use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
#[dlpack(dtype = BF16)]
pub struct Dtype {
    data: Vec<u8>,
    shape: [usize; 2],
    dtype: dlpack_traits::DataType,
}

#[derive(DLPackExport)]
#[dlpack(order = row_major)]
pub struct OrderImage {
    data: Vec<u8>,
    shape: [usize; 2],
    #[dlpack(order)]
    order: dlpack_traits::Order,
}

#[derive(DLPackExport)]
#[dlpack(byte_strides(row, 1))]
pub struct Strided {
    data: Vec<u8>,
    shape: [usize; 2],
    row: usize,
    strides: [usize; 2],
}

fn main() {}

pub fn compiles_all_the_same(
    dtype: Dtype, order_image: OrderImage,
    strided: Strided,
) {
    let _ = dtype.into_dlpack();
    let _ = order_image.into_dlpack();
    let _ = strided.into_dlpack();
}
