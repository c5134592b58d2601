use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
#[dlpack(readonly)]
pub struct Close {
    data: Vec<u8>,
    shape: [usize; 3],
}

#[derive(DLPackExport)]
#[dlpack(rename_all = "camelCase")]
pub struct Far {
    data: Vec<u8>,
    shape: [usize; 3],
}

fn main() {}

pub fn compiles_all_the_same(close: Close, far: Far) {
    let _ = close.into_dlpack();
    let _ = far.into_dlpack();
}
