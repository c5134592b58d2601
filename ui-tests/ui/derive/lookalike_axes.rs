use dlpack_traits::{DLPackExport, DLPackImport, ImportedStorage};

#[derive(DLPackExport)]
#[dlpack(shape(height, width))]
pub struct ChannelsLast {
    data: Vec<u8>,
    height: usize,
    width: usize,
    channels_last: bool,
}

#[derive(DLPackImport)]
pub struct Imported {
    data: ImportedStorage<u8>,
    shape: [usize; 3],
    channels_last: bool,
}

#[derive(DLPackExport)]
#[dlpack(shape(height, width), order = column_major)]
pub struct InterleavedWithOrder {
    data: Vec<u8>,
    height: usize,
    width: usize,
    interleaved: bool,
}

#[derive(DLPackExport)]
#[dlpack(shape(height, width))]
pub struct IsPlanar {
    data: Vec<u8>,
    height: usize,
    width: usize,
    is_planar: bool,
}

#[derive(DLPackExport)]
pub struct Transpose {
    data: Vec<u8>,
    shape: [usize; 2],
    transpose: bool,
}

fn main() {}

pub fn compiles_all_the_same(
    channels_last: ChannelsLast,
    interleaved_with_order: InterleavedWithOrder,
    is_planar: IsPlanar,
    transpose: Transpose,
    tensor: fn() -> dlpack_traits::ImportedTensor,
) {
    let _ = channels_last.into_dlpack();
    let _ = Imported::from_dlpack(tensor());
    let _ = interleaved_with_order.into_dlpack();
    let _ = is_planar.into_dlpack();
    let _ = transpose.into_dlpack();
}
