use dlpack_traits::DLPackExport;

pub struct Dense;

#[derive(DLPackExport)]
#[dlpack(shape(2, 2))]
pub struct ConstantShape {
    data: Vec<u8>,
    #[dlpack(layout)]
    placement: Dense,
}

#[derive(DLPackExport)]
pub struct Offset {
    data: Vec<u8>,
    #[dlpack(layout)]
    placement: Dense,
    #[dlpack(offset(bytes))]
    start: usize,
}

#[derive(DLPackExport)]
#[dlpack(order = column_major)]
pub struct OrderImage {
    data: Vec<u8>,
    #[dlpack(layout)]
    placement: Dense,
}

#[derive(DLPackExport)]
pub struct ShapeByName {
    data: Vec<u8>,
    shape: [usize; 2],
    #[dlpack(layout)]
    placement: Dense,
}

#[derive(DLPackExport)]
#[dlpack(strides(2, 1))]
pub struct Strides {
    data: Vec<u8>,
    #[dlpack(layout)]
    placement: Dense,
}

fn main() {}

pub fn compiles_all_the_same(
    constant_shape: ConstantShape,
    offset: Offset,
    order_image: OrderImage,
    shape_by_name: ShapeByName,
    strides: Strides,
) {
    let _ = constant_shape.into_dlpack();
    let _ = offset.into_dlpack();
    let _ = order_image.into_dlpack();
    let _ = shape_by_name.into_dlpack();
    let _ = strides.into_dlpack();
}
