use dlpack_traits::{DLPackExport, DLPackImport, ImportedStorage};

#[derive(DLPackExport)]
#[dlpack(shape(height, width))]
pub struct BytesPerRow {
    data: Vec<u8>,
    height: usize,
    width: usize,
    bytes_per_row: u32,
}

#[derive(DLPackExport, DLPackImport)]
pub struct InBoth {
    data: ImportedStorage<u8>,
    shape: [usize; 3],
    linesize: usize,
}

#[derive(DLPackExport)]
#[dlpack(shape(height, width))]
pub struct Linesize {
    data: Vec<u8>,
    height: usize,
    width: usize,
    linesize: i32,
}

#[derive(DLPackExport)]
pub struct MemoryLayout {
    data: Vec<u8>,
    shape: [usize; 2],
    memory_layout: u8,
}

#[derive(DLPackExport)]
pub struct OrderImage {
    data: Vec<u8>,
    shape: [usize; 2],
    order: char,
}

#[derive(DLPackExport)]
#[dlpack(shape(height, width))]
pub struct PaddedWidth {
    data: Vec<u8>,
    height: usize,
    width: usize,
    padded_width: usize,
}

#[derive(DLPackExport)]
pub struct Pitch {
    data: Vec<u8>,
    shape: [usize; 2],
    pitch: usize,
}

#[derive(DLPackExport)]
pub struct Rank {
    data: Vec<u8>,
    shape: [usize; 2],
    rank: usize,
}

#[derive(DLPackExport)]
#[dlpack(shape(height, width))]
pub struct RowStrides {
    data: Vec<u8>,
    height: usize,
    width: usize,
    row_strides: [usize; 2],
}

#[derive(DLPackExport)]
pub struct StartOffset {
    data: Vec<u8>,
    shape: [usize; 2],
    start_offset: usize,
}

fn main() {}

pub fn compiles_all_the_same(
    bytes_per_row: BytesPerRow,
    linesize: Linesize,
    memory_layout: MemoryLayout,
    order_image: OrderImage,
    padded_width: PaddedWidth,
    pitch: Pitch,
    rank: Rank,
    row_strides: RowStrides,
    start_offset: StartOffset,
    tensor: fn() -> dlpack_traits::ImportedTensor,
) {
    let _ = bytes_per_row.into_dlpack();
    let _ = InBoth::from_dlpack(tensor());
    let _ = linesize.into_dlpack();
    let _ = memory_layout.into_dlpack();
    let _ = order_image.into_dlpack();
    let _ = padded_width.into_dlpack();
    let _ = pitch.into_dlpack();
    let _ = rank.into_dlpack();
    let _ = row_strides.into_dlpack();
    let _ = start_offset.into_dlpack();
}
