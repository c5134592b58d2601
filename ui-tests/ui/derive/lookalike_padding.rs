use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
#[dlpack(shape(height, width))]
pub struct PaddingBytes {
    data: Vec<u8>,
    height: usize,
    width: usize,
    padding_bytes: usize,
}

#[derive(DLPackExport)]
#[dlpack(shape(height, width))]
pub struct RowPadding {
    data: Vec<u8>,
    height: usize,
    width: usize,
    row_padding: u32,
}

fn main() {}

pub fn compiles_all_the_same(padding_bytes: PaddingBytes, row_padding: RowPadding) {
    let _ = padding_bytes.into_dlpack();
    let _ = row_padding.into_dlpack();
}
