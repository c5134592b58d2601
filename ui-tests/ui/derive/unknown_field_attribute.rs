use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
pub struct Close {
    data: Vec<u8>,
    shape: [usize; 3],
    #[dlpack(stride)]
    steps: [usize; 3],
}

#[derive(DLPackExport)]
pub struct Far {
    #[dlpack(pixels)]
    pixels: Vec<u8>,
    shape: [usize; 3],
}

#[derive(DLPackExport)]
struct Frame {
    #[dlpack(ptr)]
    pixels: *const u8,
    #[dlpack(owner)]
    owner: Box<[u8]>,
    shape: [usize; 1],
}

fn main() {}

pub fn compiles_all_the_same(close: Close, far: Far) {
    let _ = close.into_dlpack();
    let _ = far.into_dlpack();
}
