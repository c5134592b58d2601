use std::cell::Cell;
use std::rc::Rc;

use dlpack_traits::{DLPackExport, DataType};

pub struct Opaque(Vec<f32>);

#[derive(DLPackExport)]
pub struct LendsNothing {
    #[dlpack(data, slice = f32)]
    values: Opaque,
    shape: [usize; 1],
}

#[derive(DLPackExport)]
pub struct OtherType {
    #[dlpack(data, slice = f32)]
    values: Vec<f64>,
    shape: [usize; 1],
}

#[derive(DLPackExport)]
pub struct NoElement {
    #[dlpack(data, slice = Cell<u8>)]
    values: Vec<Cell<u8>>,
    shape: [usize; 1],
}

#[derive(DLPackExport)]
pub struct NotSend {
    #[dlpack(data, slice = f32)]
    values: Rc<[f32]>,
    shape: [usize; 1],
}

pub struct Single(Vec<f32>);

impl AsRef<[f32]> for Single {
    fn as_ref(&self) -> &[f32] {
        &self.0
    }
}

#[derive(DLPackExport)]
pub struct NotClone {
    #[dlpack(data, slice = f32, shared)]
    values: Single,
    shape: [usize; 1],
}

fn to_text(_: &Single) -> &'static str {
    "float32"
}

#[derive(DLPackExport)]
pub struct ConvertedToOther {
    data: Vec<u8>,
    shape: [usize; 1],
    #[dlpack(dtype, with = to_text)]
    kind: Single,
}

fn main() {
    let _ = DataType::F32;
}
