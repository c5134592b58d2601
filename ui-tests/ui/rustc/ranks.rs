use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
pub struct Arrays {
    data: Vec<u8>,
    shape: [usize; 3],
    strides: [isize; 2],
}

#[derive(DLPackExport)]
#[dlpack(shape(2, 2, 3))]
pub struct ConstantShape {
    data: Vec<u8>,
    strides: [isize; 2],
}

#[derive(DLPackExport)]
#[dlpack(strides(2, 1))]
pub struct ListedStrides {
    data: Vec<u8>,
    shape: [usize; 3],
}

fn main() {}

pub fn compiles_all_the_same(
    arrays: Arrays, constant_shape: ConstantShape,
    listed_strides: ListedStrides,
) {
    let _ = arrays.into_dlpack();
    let _ = constant_shape.into_dlpack();
    let _ = listed_strides.into_dlpack();
}
