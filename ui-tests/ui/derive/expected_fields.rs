use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
#[dlpack(skip = id)]
pub struct Assigned {
    data: Vec<u8>,
    shape: [usize; 2],
    id: u64,
}

#[derive(DLPackExport)]
#[dlpack(skip())]
pub struct Empty {
    data: Vec<u8>,
    shape: [usize; 2],
    id: u64,
}

#[derive(DLPackExport)]
#[dlpack(skip(id time))]
pub struct NoComma {
    data: Vec<u8>,
    shape: [usize; 2],
    id: u64,
    time: u64,
}

#[derive(DLPackExport)]
#[dlpack(skip)]
pub struct Nothing {
    data: Vec<u8>,
    shape: [usize; 2],
    id: u64,
}

#[derive(DLPackExport)]
#[dlpack(skip("id"))]
pub struct StringImage {
    data: Vec<u8>,
    shape: [usize; 2],
    id: u64,
}

fn main() {}

pub fn compiles_all_the_same(
    assigned: Assigned,
    empty: Empty,
    no_comma: NoComma,
    nothing: Nothing,
    string_image: StringImage,
) {
    let _ = assigned.into_dlpack();
    let _ = empty.into_dlpack();
    let _ = no_comma.into_dlpack();
    let _ = nothing.into_dlpack();
    let _ = string_image.into_dlpack();
}
