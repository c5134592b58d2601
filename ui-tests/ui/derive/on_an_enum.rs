use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
pub enum Role {
    Bytes(#[dlpack(data)] Vec<u8>),
}

#[derive(DLPackExport)]
#[dlpack(shape(2, 2))]
pub enum Shape {
    Bytes(Tensor),
}

#[derive(DLPackExport)]
pub struct Tensor {
    data: Vec<u8>,
    shape: [usize; 2],
}

#[derive(DLPackExport)]
#[dlpack(skip(data))]
pub enum Skip {
    Of(dlpack_traits::ImportedStorage<u8>),
}

#[derive(DLPackExport)]
#[dlpack(spare_capacity)]
pub enum Spare {
    Bytes(Tensor),
}

#[derive(DLPackExport)]
#[dlpack(transparent)]
pub enum Transparent {
    Bytes(Tensor),
}

fn main() {}

pub fn compiles_all_the_same(
    role: Role,
    shape: Shape,
    skip: Skip,
    spare: Spare,
    transparent: Transparent,
) {
    let _ = role.into_dlpack();
    let _ = shape.into_dlpack();
    let _ = skip.into_dlpack();
    let _ = spare.into_dlpack();
    let _ = transparent.into_dlpack();
}
