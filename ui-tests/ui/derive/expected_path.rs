use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
#[dlpack(crate = Self::inner)]
pub struct AType {
    data: Vec<u8>,
    shape: [usize; 3],
}

#[derive(DLPackExport)]
#[dlpack(crate = 3)]
pub struct Integer {
    data: Vec<u8>,
    shape: [usize; 3],
}

#[derive(DLPackExport)]
#[dlpack(crate)]
pub struct Nothing {
    data: Vec<u8>,
    shape: [usize; 3],
}

#[derive(DLPackExport)]
#[dlpack(crate = "dlpack_traits")]
pub struct StringImage {
    data: Vec<u8>,
    shape: [usize; 3],
}

fn main() {}

pub fn compiles_all_the_same(
    a_type: AType,
    integer: Integer,
    nothing: Nothing,
    string_image: StringImage,
) {
    let _ = a_type.into_dlpack();
    let _ = integer.into_dlpack();
    let _ = nothing.into_dlpack();
    let _ = string_image.into_dlpack();
}
