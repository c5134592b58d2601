use dlpack_traits::{DLPackExport};

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

#[derive(DLPackExport)]
#[dlpack(shape(2, 2, 3))]
pub struct ShapeByAttribute {
    data: Vec<u8>,
    #[dlpack(shape)]
    dims: [usize; 3],
}

#[derive(DLPackExport)]
#[dlpack(shape(2, 2, 3))]
pub struct ShapeByName {
    data: Vec<u8>,
    shape: [usize; 3],
}

#[derive(DLPackExport)]
#[dlpack(offset(elements) = 3)]
pub struct Shifted {
    data: Vec<u8>,
    shape: [usize; 2],
    byte_offset: usize,
}

fn main() {}

pub fn compiles_all_the_same(
    dtype: Dtype,
    order_image: OrderImage,
    strided: Strided,
    shape_by_attribute: ShapeByAttribute,
    shape_by_name: ShapeByName,
    shifted: Shifted,
) {
    let _ = dtype.into_dlpack();
    let _ = order_image.into_dlpack();
    let _ = strided.into_dlpack();
    let _ = shape_by_attribute.into_dlpack();
    let _ = shape_by_name.into_dlpack();
    let _ = shifted.into_dlpack();
}
