//! `image`: a buffer that can be borrowed as a slice becomes a storage in three lines.

use std::path::PathBuf;
use std::sync::Arc;

use dlpack_traits::{DLPackExport, DataRef, Storage};
use image::RgbImage;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

/// The pixels of a picture. In an `Arc` they can have several owners.
pub(crate) struct Pixels(RgbImage);

impl Storage for Pixels {
    fn data(&self) -> DataRef<'_> {
        DataRef::from_slice(self.0.as_raw())
    }
}

/// A picture, as it was decoded.
#[pyclass(frozen, module = "dlpack_wrapped")]
#[derive(DLPackExport)]
#[dlpack(shape(height, width, 3))]
pub(crate) struct Photo {
    #[dlpack(data)]
    pixels: Arc<Pixels>,
    width: u32,
    height: u32,
}

#[pymethods]
impl Photo {
    #[new]
    fn new(path: PathBuf) -> PyResult<Self> {
        let picture = image::open(&path)
            .map_err(|error| PyOSError::new_err(format!("{}: {error}", path.display())))?;
        let pixels = picture.into_rgb8();
        let (width, height) = pixels.dimensions();
        Ok(Self { pixels: Arc::new(Pixels(pixels)), width, height })
    }

    #[getter]
    fn data_ptr(&self) -> usize {
        self.pixels.0.as_ptr().addr()
    }
}
