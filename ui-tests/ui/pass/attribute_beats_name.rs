//! `data` by name and `data` by attribute: the attribute wins.

#![deny(warnings)]

use dlpack_traits::{DLPackExport, DataType};

#[derive(DLPackExport)]
struct Image {
    data: Vec<f64>,
    #[dlpack(data)]
    pixels: Vec<f32>,
    shape: [usize; 1],
}

fn main() {
    let image = Image { data: vec![0.0; 9], pixels: vec![0.0; 2], shape: [2] };
    assert_eq!(image.tensor().unwrap().dtype(), DataType::F32);
    assert_eq!(image.data.len(), 9);
}
