use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
pub struct Dtype {
    data: Vec<u8>,
    shape: [usize; 2],
    #[dlpack(dtype = BF16)]
    element: dlpack_traits::DataType,
}

#[derive(DLPackExport)]
pub struct OrderImage {
    data: Vec<u8>,
    shape: [usize; 2],
    #[dlpack(order = column_major)]
    order: dlpack_traits::Order,
}

#[derive(DLPackExport)]
pub struct Shape {
    data: Vec<u8>,
    #[dlpack(shape(2, 2, 3))]
    dims: [usize; 3],
}

fn main() {}

pub fn compiles_all_the_same(dtype: Dtype, order_image: OrderImage, shape: Shape) {
    let _ = dtype.into_dlpack();
    let _ = order_image.into_dlpack();
    let _ = shape.into_dlpack();
}
