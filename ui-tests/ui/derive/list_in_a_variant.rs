use std::sync::Arc;

use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
pub enum Column {
    F32(Vec<f32>),
    I64 { values: Arc<[i64]> },
    #[dlpack(skip)]
    Text(Vec<String>),
}

#[derive(DLPackExport)]
pub enum Either {
    Tensor(Tensor),
    Bytes([u8; 4]),
}

#[derive(DLPackExport)]
pub struct Tensor {
    data: Vec<u8>,
    shape: [usize; 2],
}

fn main() {}

pub fn compiles_all_the_same(column: Column, either: Either) {
    let _ = column.into_dlpack();
    let _ = either.into_dlpack();
}
