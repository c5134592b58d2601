//! What "has no shape" says to write where the data has one itself.

#![deny(warnings)]

use dlpack_traits::{DLPackExport, Error};

#[derive(DLPackExport)]
struct Array {
    data: Vec<f32>,
    shape: [usize; 2],
}

#[derive(DLPackExport)]
#[dlpack(transparent)]
struct Image {
    data: Array,
    #[dlpack(skip)]
    name: String,
}

fn main() -> Result<(), Error> {
    let data = Array { data: vec![0.0; 6], shape: [2, 3] };
    let image = Image { data, name: "fog".to_owned() };
    assert_eq!(image.name, "fog");
    assert_eq!(image.into_dlpack()?.shape(), [2, 3]);
    Ok(())
}
