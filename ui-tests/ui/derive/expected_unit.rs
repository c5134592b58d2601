use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
pub struct Both {
    data: Vec<u8>,
    shape: [usize; 2],
    #[dlpack(pitch(elements, bytes))]
    pitch: usize,
}

#[derive(DLPackExport)]
pub struct Equals {
    data: Vec<u8>,
    shape: [usize; 2],
    #[dlpack(offset = 4)]
    start: usize,
}

#[derive(DLPackExport)]
pub struct Nothing {
    data: Vec<u8>,
    shape: [usize; 2],
    #[dlpack(offset())]
    start: usize,
}

#[derive(DLPackExport)]
pub struct Other {
    data: Vec<u8>,
    shape: [usize; 2],
    #[dlpack(strides(floats))]
    steps: [usize; 2],
}

#[derive(DLPackExport)]
pub struct Listed {
    data: Vec<u8>,
    shape: [usize; 2],
    #[dlpack(strides(hop, 1))]
    steps: [usize; 2],
}

fn main() {}

pub fn compiles_all_the_same(both: Both, equals: Equals, nothing: Nothing, other: Other, listed: Listed) {
    let _ = both.into_dlpack();
    let _ = equals.into_dlpack();
    let _ = nothing.into_dlpack();
    let _ = other.into_dlpack();
    let _ = listed.into_dlpack();
}
