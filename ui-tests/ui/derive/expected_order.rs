use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
#[dlpack(order = "F")]
pub struct Letter {
    data: Vec<u8>,
    shape: [usize; 2],
}

#[derive(DLPackExport)]
#[dlpack(order(column_major))]
pub struct List {
    data: Vec<u8>,
    shape: [usize; 2],
}

#[derive(DLPackExport)]
#[dlpack(order)]
pub struct Nothing {
    data: Vec<u8>,
    shape: [usize; 2],
}

#[derive(DLPackExport)]
#[dlpack(order = fortran)]
pub struct Word {
    data: Vec<u8>,
    shape: [usize; 2],
}

fn main() {}

pub fn compiles_all_the_same(
    letter: Letter,
    list: List,
    nothing: Nothing,
    word: Word,
) {
    let _ = letter.into_dlpack();
    let _ = list.into_dlpack();
    let _ = nothing.into_dlpack();
    let _ = word.into_dlpack();
}
