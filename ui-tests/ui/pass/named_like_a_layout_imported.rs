//! Fields that are named like a layout and skipped, in an import.

#![deny(warnings)]

use dlpack_traits::{DLPackExport, DLPackImport, ImportError};

#[derive(DLPackExport, DLPackImport)]
struct Image {
    #[dlpack(copy)]
    data: Vec<u8>,
    shape: [usize; 2],
    #[dlpack(skip, default)]
    row_stride: usize,
    #[dlpack(skip, default = unknown)]
    linesize: usize,
}

fn unknown() -> usize {
    7
}

fn main() -> Result<(), ImportError> {
    let image = Image { data: vec![0; 6], shape: [2, 3], row_stride: 3, linesize: 3 };
    let tensor = image.into_dlpack()?.import()?;
    let image = Image::from_dlpack(tensor)?;
    assert_eq!((image.data.len(), image.shape), (6, [2, 3]));
    assert_eq!((image.row_stride, image.linesize), (0, 7));
    Ok(())
}
