use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
pub struct Len {
    data: Vec<u8>,
    shape: [usize; 2],
    #[dlpack(len)]
    nbytes: usize,
}

#[derive(DLPackExport)]
pub struct Offset {
    data: Vec<u8>,
    shape: [usize; 2],
    #[dlpack(offset)]
    offset: usize,
}

#[derive(DLPackExport)]
pub struct Pitch {
    data: Vec<u8>,
    shape: [usize; 2],
    #[dlpack(pitch)]
    row_pitch: usize,
}

#[derive(DLPackExport)]
pub struct Pointer {
    #[dlpack(unsafe(ptr, len = size))]
    pixels: *const u8,
    #[dlpack(owner)]
    file: Vec<u8>,
    size: usize,
    shape: [usize; 2],
}

#[derive(DLPackExport)]
#[dlpack(offset = 4)]
pub struct Stated {
    data: Vec<u8>,
    shape: [usize; 2],
}

fn main() {}

pub fn compiles_all_the_same(
    len: Len,
    offset: Offset,
    pitch: Pitch,
    pointer: &Pointer,
    stated: Stated,
) {
    let _ = len.into_dlpack();
    let _ = offset.into_dlpack();
    let _ = pitch.into_dlpack();
    let _ = pointer.tensor();
    let _ = stated.into_dlpack();
}
