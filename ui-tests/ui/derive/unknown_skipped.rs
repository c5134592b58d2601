use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
#[dlpack(skip(timestmap))]
pub struct Close {
    data: Vec<u8>,
    shape: [usize; 2],
    timestamp: f64,
}

#[derive(DLPackExport)]
#[dlpack(skip(label))]
pub struct Far {
    data: Vec<u8>,
    shape: [usize; 2],
    id: f64,
}

#[derive(DLPackExport)]
#[dlpack(skip(2))]
pub struct TupleStruct(#[dlpack(data)] Vec<u8>, #[dlpack(shape)] [usize; 2]);

fn main() {}

pub fn compiles_all_the_same(close: Close, far: Far, tuple_struct: TupleStruct) {
    let _ = close.into_dlpack();
    let _ = far.into_dlpack();
    let _ = tuple_struct.into_dlpack();
}
