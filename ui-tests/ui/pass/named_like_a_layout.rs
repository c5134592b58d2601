//! Names that only contain the words of a layout, and fields that are named
//! like one and skipped, listed, or marked with another role.

#![deny(warnings)]

use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
#[dlpack(shape(rank, offset), skip(border, offsets, len, padding, _padding))]
struct Image {
    data: Vec<u8>,
    border: u8,
    offsets: u8,
    len: u8,
    rank: usize,
    offset: u16,
    #[dlpack(skip)]
    stride: u8,
    #[dlpack(skip)]
    row_strides: [u8; 2],
    #[dlpack(skip)]
    memory_format: u8,
    #[dlpack(skip)]
    channels_last: bool,
    #[dlpack(skip)]
    row_padding: u8,
    padding: [u8; 2],
    _padding: u32,
    start: f32,
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
        row_strides: [5, 6],
        memory_format: 7,
        channels_last: true,
        row_padding: 1,
        padding: [0, 1],
        _padding: 0,
        start: 0.5,
        row_layout: 4,
    };
    assert_eq!(image.border + image.offsets + image.len + image.stride, 10);
    assert_eq!((image.row_strides, image.memory_format, image.start), ([5, 6], 7, 0.5));
    assert_eq!((image.channels_last, image.row_padding, image.padding), (true, 1, [0, 1]));
    assert_eq!(image.tensor().unwrap().strides(), [4, 1]);
}
