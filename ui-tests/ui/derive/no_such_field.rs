use dlpack_traits::{DLPackExport};

#[derive(DLPackExport)]
#[dlpack(shape(height, widht))]
pub struct Close {
    data: Vec<u8>,
    width: u32,
    height: u32,
}

#[derive(DLPackExport)]
#[dlpack(shape(rows, w))]
pub struct Far {
    data: Vec<u8>,
    columns: u32,
    rows: u32,
}

#[derive(DLPackExport)]
pub struct Length {
    #[dlpack(unsafe(ptr, len(elements) = sice))]
    pixels: *const u8,
    #[dlpack(owner)]
    file: Vec<u8>,
    size: usize,
    shape: [usize; 2],
}

#[derive(DLPackExport)]
#[dlpack(shape(n))]
pub struct Tuple(#[dlpack(data)] Vec<u8>, usize);

#[derive(DLPackExport)]
#[dlpack(strides(hopp, 1))]
pub struct Strides {
    data: Vec<u8>,
    shape: [usize; 2],
    hop: u32,
}

#[derive(DLPackExport)]
#[dlpack(skip(timestmap))]
pub struct SkippedClose {
    data: Vec<u8>,
    shape: [usize; 2],
    timestamp: f64,
}

#[derive(DLPackExport)]
#[dlpack(skip(label))]
pub struct SkippedFar {
    data: Vec<u8>,
    shape: [usize; 2],
    id: f64,
}

#[derive(DLPackExport)]
#[dlpack(skip(2))]
pub struct SkippedIndex(#[dlpack(data)] Vec<u8>, #[dlpack(shape)] [usize; 2]);

#[derive(DLPackExport)]
#[dlpack(offset(bytes) = strat)]
pub struct Shifted {
    data: Vec<u8>,
    shape: [usize; 2],
    start: usize,
}

fn main() {}

pub fn compiles_all_the_same(
    close: Close,
    far: Far,
    length: &Length,
    tuple: Tuple,
    strides: Strides,
    skipped_close: SkippedClose,
    skipped_far: SkippedFar,
    skipped_index: SkippedIndex,
    shifted: Shifted,
) {
    let _ = close.into_dlpack();
    let _ = far.into_dlpack();
    let _ = length.tensor();
    let _ = tuple.into_dlpack();
    let _ = strides.into_dlpack();
    let _ = skipped_close.into_dlpack();
    let _ = skipped_far.into_dlpack();
    let _ = skipped_index.into_dlpack();
    let _ = shifted.into_dlpack();
}
