use dlpack_traits::{DLPackExport, DLPackImport, ImportedStorage};

#[derive(DLPackImport)]
pub struct ImportedWithDefault {
    data: ImportedStorage<u8>,
    shape: [usize; 2],
    #[dlpack(default)]
    row_stride: usize,
}

#[derive(DLPackExport)]
#[dlpack(shape(height, width))]
pub struct RowStride {
    data: Vec<u8>,
    height: usize,
    width: usize,
    row_stride: usize,
}

#[derive(DLPackExport)]
pub struct Stride {
    data: Vec<u8>,
    shape: [usize; 2],
    stride: usize,
}

#[derive(DLPackExport)]
#[dlpack(shape(height, width))]
pub struct XStride {
    data: Vec<u8>,
    height: usize,
    width: usize,
    x_stride: u32,
}

fn main() {}

pub fn compiles_all_the_same(
    row_stride: RowStride,
    stride: Stride,
    x_stride: XStride,
    tensor: fn() -> dlpack_traits::ImportedTensor,
) {
    let _ = ImportedWithDefault::from_dlpack(tensor());
    let _ = row_stride.into_dlpack();
    let _ = stride.into_dlpack();
    let _ = x_stride.into_dlpack();
}
