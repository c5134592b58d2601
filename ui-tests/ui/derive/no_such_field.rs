use dlpack_traits::DLPackExport;

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

fn main() {}

pub fn compiles_all_the_same(
    close: Close, far: Far, length: &Length, tuple: Tuple,
    strides: Strides,
) {
    let _ = close.into_dlpack();
    let _ = far.into_dlpack();
    let _ = length.tensor();
    let _ = tuple.into_dlpack();
    let _ = strides.into_dlpack();
}
