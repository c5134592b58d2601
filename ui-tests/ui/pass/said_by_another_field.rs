//! Fields that repeat what a role says, and are skipped.

#![deny(warnings)]

use dlpack_traits::{AsLayout, DLPackExport, DLPackImport, ImportedStorage};

/// With what is to be written for rows from the last to the first.
#[derive(DLPackExport)]
#[dlpack(shape(height, width), skip(bottom_up, planar, row_padding))]
struct Bitmap {
    data: Vec<u8>,
    height: usize,
    width: usize,
    #[dlpack(strides)]
    steps: [isize; 2],
    #[dlpack(offset(elements))]
    first_row: usize,
    bottom_up: bool,
    planar: bool,
    row_padding: usize,
}

#[derive(DLPackExport)]
#[dlpack(skip(row_padding, row_alignment))]
struct Frame {
    data: Vec<u8>,
    shape: [usize; 2],
    #[dlpack(pitch(elements))]
    row_pitch: usize,
    row_padding: usize,
    row_alignment: usize,
}

#[derive(AsLayout)]
#[dlpack(skip(channels_last))]
struct Place {
    shape: [usize; 2],
    strides: [isize; 2],
    channels_last: bool,
}

#[derive(DLPackExport)]
#[dlpack(skip(top_down, nhwc, padding_bytes))]
struct Tensor {
    data: Vec<u8>,
    #[dlpack(layout)]
    place: Place,
    top_down: bool,
    nhwc: bool,
    padding_bytes: usize,
}

#[derive(DLPackImport)]
struct Read {
    data: ImportedStorage<u8>,
    shape: Vec<usize>,
    strides: Vec<isize>,
    #[dlpack(skip, default)]
    channels_last: bool,
}

fn main() {
    // In memory: the second row, a byte of padding, the first row.
    let bitmap = Bitmap {
        data: vec![3, 4, 0, 1, 2],
        height: 2,
        width: 2,
        steps: [-3, 1],
        first_row: 3,
        bottom_up: true,
        planar: false,
        row_padding: 1,
    };
    assert_eq!((bitmap.bottom_up, bitmap.planar, bitmap.row_padding), (true, false, 1));
    let tensor = bitmap.copy_to_dlpack().unwrap().import().unwrap();
    let image = Read::from_dlpack(tensor).unwrap();
    assert_eq!((image.shape, image.strides, image.channels_last), (vec![2, 2], vec![2, 1], false));
    assert_eq!(image.data.elements().unwrap().to_vec().unwrap(), [1, 2, 3, 4]);

    let frame =
        Frame { data: vec![0; 8], shape: [2, 3], row_pitch: 4, row_padding: 1, row_alignment: 4 };
    assert_eq!(frame.row_padding + frame.row_alignment, 5);
    assert_eq!(frame.tensor().unwrap().strides(), [4, 1]);

    let place = Place { shape: [2, 3], strides: [1, 2], channels_last: true };
    assert!(place.channels_last);
    let tensor = Tensor { data: vec![0; 6], place, top_down: true, nhwc: false, padding_bytes: 0 };
    assert_eq!((tensor.top_down, tensor.nhwc, tensor.padding_bytes), (true, false, 0));
    assert_eq!(tensor.tensor().unwrap().strides(), [1, 2]);
}
