use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
#[dlpack(strides(bytes))]
pub struct Bytes {
    data: Vec<u8>,
    shape: [usize; 2],
}

#[derive(DLPackExport)]
#[dlpack(strides(elements))]
pub struct Elements {
    data: Vec<u8>,
    shape: [usize; 2],
}

fn main() {}

pub fn compiles_all_the_same(bytes: Bytes, elements: Elements) {
    let _ = bytes.into_dlpack();
    let _ = elements.into_dlpack();
}
