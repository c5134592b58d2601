use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
pub struct Offset {
    data: Vec<u8>,
    shape: [usize; 2],
    #[dlpack(offset(bytes) = 4)]
    start: usize,
}

#[derive(DLPackExport)]
#[dlpack(shape(3, 4) = size, read_only)]
pub struct Shape {
    data: Vec<u8>,
}

fn main() {}

pub fn compiles_all_the_same(offset: Offset, shape: Shape) {
    let _ = offset.into_dlpack();
    let _ = shape.into_dlpack();
}
