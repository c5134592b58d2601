use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
#[dlpack(transparent)]
pub struct Role(#[dlpack(data)] Vec<u8>);

#[derive(DLPackExport)]
#[dlpack(transparent, shape(2, 2))]
pub struct Shape(Tensor);

#[derive(DLPackExport)]
pub struct Tensor {
    data: Vec<u8>,
    shape: [usize; 2],
}

fn main() {}

pub fn compiles_all_the_same(role: Role, shape: Shape) {
    let _ = role.into_dlpack();
    let _ = shape.into_dlpack();
}
