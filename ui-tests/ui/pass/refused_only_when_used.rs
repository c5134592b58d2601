//! A constant that depends on parameters is looked at where they are known.

#![deny(warnings)]

use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
#[dlpack(shape(2, N))]
struct Image<const N: i32> {
    data: Vec<u8>,
}

fn main() {
    let negative = Image::<-1> { data: Vec::new() };
    assert!(negative.data.is_empty());
    assert_eq!(Image::<1> { data: vec![0; 2] }.tensor().unwrap().shape(), [2, 1]);
}
