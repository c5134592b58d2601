//! A field that is named like a role and marked with another one takes only
//! the marked one.

#![deny(warnings)]

use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
struct Image {
    data: Vec<u8>,
    #[dlpack(strides)]
    shape: [usize; 2],
    #[dlpack(shape)]
    strides: [usize; 2],
}

fn main() {
    let image = Image { data: vec![0; 6], shape: [3, 1], strides: [2, 3] };
    let tensor = image.tensor().unwrap();
    assert_eq!((tensor.shape(), tensor.strides()), (&[2, 3][..], &[3, 1][..]));
}
