//! A photograph that is decoded once and read by many consumers.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::path::PathBuf;
use std::sync::Arc;

use dlpack_traits::{DLPackExport, DataRef, Storage};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

use crate::canvas::Canvas;

/// A read-only photograph: height x width x 3 channels.
#[pyclass(frozen, module = "dlpack_example")]
#[derive(DLPackExport)]
pub(crate) struct Image {
    data: Arc<Pixels>,
    shape: [usize; 3],
}

/// The bytes of a photograph, which record when they are freed.
///
/// An `Arc<[u8]>` would be sufficient for the tensor; this type shows how to export your
/// own buffer type.
struct Pixels(Vec<u8>);

impl Storage for Pixels {
    fn data(&self) -> DataRef<'_> {
        DataRef::from_slice(&self.0)
    }
}

/// How many photographs have been freed.
static FREED: AtomicUsize = AtomicUsize::new(0);

impl Drop for Pixels {
    fn drop(&mut self) {
        FREED.fetch_add(1, Ordering::Relaxed);
    }
}

/// How many photographs have been freed since the module was imported.
#[pyfunction]
pub(crate) fn freed() -> usize {
    FREED.load(Ordering::Relaxed)
}

#[pymethods]
impl Image {
    /// Decodes a JPEG or PNG file.
    #[staticmethod]
    fn open(path: PathBuf) -> PyResult<Self> {
        let decoded = image::open(&path)
            .map_err(|error| PyOSError::new_err(format!("{}: {error}", path.display())))?
            .into_rgb8();
        let (width, height) = (decoded.width() as usize, decoded.height() as usize);
        let data = Arc::new(Pixels(decoded.into_raw()));
        Ok(Self { data, shape: [height, width, 3] })
    }

    /// Height, width and 3 channels.
    #[getter]
    fn shape(&self) -> (usize, usize, usize) {
        self.shape.into()
    }

    /// Address of the first byte.
    #[getter]
    fn data_ptr(&self) -> usize {
        self.data.0.as_ptr().addr()
    }

    /// A copy that can be written.
    fn to_canvas(&self) -> PyResult<Canvas> {
        Canvas::new(&self.data.0, self.shape)
    }
}
