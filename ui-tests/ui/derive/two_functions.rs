use dlpack_traits::{DLPackExport, DataType};

pub struct Theirs;

pub fn to_dtype(_: &Theirs) -> DataType {
    DataType::U8
}

#[derive(DLPackExport)]
pub struct One {
    data: Vec<u8>,
    shape: [usize; 2],
    #[dlpack(dtype, with(to_dtype))]
    kind: Theirs,
}

#[derive(DLPackExport)]
pub struct Closure {
    data: Vec<u8>,
    shape: [usize; 2],
    #[dlpack(dtype, with(to_dtype, |_| Theirs))]
    kind: Theirs,
}

fn main() {}

pub fn compiles_all_the_same(one: One, closure: Closure) {
    let _ = one.into_dlpack();
    let _ = closure.into_dlpack();
}
