use dlpack_traits::{DLPackExport, DLPackImport, ImportedStorage};

#[derive(Clone, Copy)]
pub enum Kind {
    F32,
}

pub struct Tensor {
    pub shape: Vec<usize>,
    pub kind: Kind,
    pub start: Option<usize>,
}

#[derive(DLPackExport)]
#[dlpack(shape(2), dtype = self.other.kind)]
pub struct Dtype {
    data: Vec<u8>,
    other: Tensor,
}

#[derive(DLPackExport)]
#[dlpack(shape(2), dtype = self.other.kind.into())]
pub struct DtypeInto {
    data: Vec<u8>,
    other: Tensor,
}

#[derive(DLPackExport)]
#[dlpack(shape = self.other.shape.len())]
pub struct Shape {
    data: Vec<u8>,
    other: Tensor,
}

#[derive(DLPackExport)]
#[dlpack(shape = self.other.shape)]
pub struct Moved {
    data: Vec<u8>,
    other: Tensor,
}

#[derive(DLPackExport)]
#[dlpack(shape(2), offset(elements) = self.other.start)]
pub struct Offset {
    data: Vec<u8>,
    other: Tensor,
}

#[derive(DLPackExport)]
#[dlpack(shape(2), offset(bytes) = self.start())]
pub struct Missing {
    data: Vec<u8>,
}

#[derive(DLPackExport)]
#[dlpack(shape(2), order = Self::ORDER)]
pub struct Order {
    data: Vec<u8>,
}

impl Order {
    pub const ORDER: &'static str = "C";
}

#[derive(DLPackImport)]
#[dlpack(shape = Self::LEN)]
pub struct Import {
    data: ImportedStorage<u8>,
}

impl Import {
    pub const LEN: usize = 3;
}

fn main() {}
