//! Names that only contain the words of a layout, and fields that are named
//! like one and skipped, listed, or marked with another role.

#![deny(warnings)]

use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
#[dlpack(shape(rank, offset))]
struct Image {
    data: Vec<u8>,
    border: u8,
    offsets: u8,
    len: u8,
    rank: usize,
    offset: u16,
    #[dlpack(skip)]
    stride: u8,
    #[dlpack(pitch(bytes))]
    row_layout: i32,
}

fn main() {
    let image = Image {
        data: vec![0; 6],
        border: 1,
        offsets: 2,
        len: 3,
        rank: 2,
        offset: 2,
        stride: 4,
        row_layout: 4,
    };
    assert_eq!(image.border + image.offsets + image.len + image.stride, 10);
    assert_eq!(image.tensor().unwrap().strides(), [4, 1]);
}
