use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
#[dlpack(transparent)]
pub struct Role(#[dlpack(data)] Vec<u8>);

#[derive(DLPackExport)]
#[dlpack(transparent, shape(2, 2))]
pub struct Shape(Tensor);

#[derive(DLPackExport)]
#[dlpack(transparent, spare_capacity)]
pub struct Spare(Tensor);

#[derive(DLPackExport)]
pub struct Tensor {
    data: Vec<u8>,
    shape: [usize; 2],
}

#[derive(DLPackExport)]
#[dlpack(transparent, strides(2, 1))]
pub struct Strides(Tensor);

fn main() {}

pub fn compiles_all_the_same(role: Role, shape: Shape, spare: Spare, strides: Strides) {
    let _ = role.into_dlpack();
    let _ = shape.into_dlpack();
    let _ = spare.into_dlpack();
    let _ = strides.into_dlpack();
}
