use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
#[dlpack(shape = [2, 2, 3])]
pub struct ListAfterEquals {
    data: Vec<u8>,
}

#[derive(DLPackExport)]
#[dlpack(shape = (2, 2, 3))]
pub struct Parentheses {
    data: Vec<u8>,
}

#[derive(DLPackExport)]
#[dlpack(shape = "2, 2, 3")]
pub struct StringImage {
    data: Vec<u8>,
}

#[derive(DLPackExport)]
#[dlpack(strides = 3)]
pub struct Assigned {
    data: Vec<u8>,
    shape: [usize; 2],
}

fn main() {}

pub fn compiles_all_the_same(
    list_after_equals: ListAfterEquals,
    parentheses: Parentheses,
    string_image: StringImage,
    assigned: Assigned,
) {
    let _ = list_after_equals.into_dlpack();
    let _ = parentheses.into_dlpack();
    let _ = string_image.into_dlpack();
    let _ = assigned.into_dlpack();
}
