use dlpack_traits::{DLPackExport, DLPackImport, ImportedStorage};

#[derive(DLPackExport)]
pub struct AllocatedWidth {
    data: Vec<u8>,
    shape: [usize; 2],
    allocated_width: std::num::NonZeroU32,
}

#[derive(DLPackExport)]
#[dlpack(shape(height, width))]
pub struct ByteStart {
    data: Vec<u8>,
    height: usize,
    width: usize,
    byte_start: u64,
}

#[derive(DLPackExport)]
#[dlpack(shape(height, width))]
pub struct BytesPerRow {
    data: Vec<u8>,
    height: usize,
    width: usize,
    bytes_per_row: u32,
}

#[derive(DLPackExport)]
pub struct First {
    data: Vec<u8>,
    shape: [usize; 2],
    first: usize,
}

#[derive(DLPackExport, DLPackImport)]
pub struct InBoth {
    data: ImportedStorage<u8>,
    shape: [usize; 3],
    linesize: usize,
}

#[derive(DLPackExport)]
pub struct Ld {
    data: Vec<u8>,
    shape: [usize; 2],
    ld: i64,
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
#[dlpack(shape(height, width))]
pub struct MemoryFormat {
    data: Vec<u8>,
    height: usize,
    width: usize,
    memory_format: u8,
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
pub struct RowCapacity {
    data: Vec<u8>,
    shape: [usize; 2],
    row_capacity: usize,
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
pub struct Rowbytes {
    data: Vec<u8>,
    shape: [usize; 2],
    rowbytes: u32,
}

#[derive(DLPackExport)]
#[dlpack(shape(height, width))]
pub struct Start {
    data: Vec<u8>,
    height: usize,
    width: usize,
    start: usize,
}

#[derive(DLPackExport)]
pub struct StartOffset {
    data: Vec<u8>,
    shape: [usize; 2],
    start_offset: usize,
}

fn main() {}

pub fn compiles_all_the_same(
    allocated_width: AllocatedWidth,
    byte_start: ByteStart,
    bytes_per_row: BytesPerRow,
    first: First,
    ld: Ld,
    linesize: Linesize,
    memory_format: MemoryFormat,
    memory_layout: MemoryLayout,
    order_image: OrderImage,
    padded_width: PaddedWidth,
    pitch: Pitch,
    rank: Rank,
    row_capacity: RowCapacity,
    row_strides: RowStrides,
    rowbytes: Rowbytes,
    start: Start,
    start_offset: StartOffset,
    tensor: fn() -> dlpack_traits::ImportedTensor,
) {
    let _ = allocated_width.into_dlpack();
    let _ = byte_start.into_dlpack();
    let _ = bytes_per_row.into_dlpack();
    let _ = first.into_dlpack();
    let _ = InBoth::from_dlpack(tensor());
    let _ = ld.into_dlpack();
    let _ = linesize.into_dlpack();
    let _ = memory_format.into_dlpack();
    let _ = memory_layout.into_dlpack();
    let _ = order_image.into_dlpack();
    let _ = padded_width.into_dlpack();
    let _ = pitch.into_dlpack();
    let _ = rank.into_dlpack();
    let _ = row_capacity.into_dlpack();
    let _ = row_strides.into_dlpack();
    let _ = rowbytes.into_dlpack();
    let _ = start.into_dlpack();
    let _ = start_offset.into_dlpack();
}
