use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
#[dlpack(shape(height, width))]
pub struct IsTransposed {
    data: Vec<u8>,
    height: usize,
    width: usize,
    is_transposed: bool,
}

#[derive(DLPackExport)]
pub struct RowMajor {
    data: Vec<u8>,
    shape: [usize; 2],
    row_major: bool,
}

fn main() {}

pub fn compiles_all_the_same(is_transposed: IsTransposed, row_major: RowMajor) {
    let _ = is_transposed.into_dlpack();
    let _ = row_major.into_dlpack();
}
