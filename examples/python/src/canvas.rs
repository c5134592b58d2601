//! A picture that Rust and Python change together.

use std::path::PathBuf;

use dlpack_traits::{DLPackExport, SharedBuffer, Storage};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

/// A picture: height x width x 3 channels. Consumers of its tensor may write to it, and
/// Rust reads what they wrote.
#[pyclass(frozen, module = "dlpack_example")]
#[derive(DLPackExport)]
pub(crate) struct Canvas {
    data: SharedBuffer<u8>,
    shape: [usize; 3],
}

impl Canvas {
    /// A picture that begins as a copy of these pixels.
    pub(crate) fn new(pixels: &[u8], shape: [usize; 3]) -> PyResult<Self> {
        Ok(Self { data: SharedBuffer::from_slice(pixels)?, shape })
    }
}

#[pymethods]
impl Canvas {
    /// Height, width and 3 channels.
    #[getter]
    fn shape(&self) -> (usize, usize, usize) {
        self.shape.into()
    }

    /// Address of the first byte.
    #[getter]
    fn data_ptr(&self) -> usize {
        self.data.data().as_ptr().addr()
    }

    /// The mean of all bytes, computed by Rust.
    #[expect(clippy::cast_precision_loss, reason = "no picture has 2^53 bytes")]
    fn mean(&self) -> f64 {
        let pixels = self.data.to_vec();
        pixels.iter().map(|&pixel| f64::from(pixel)).sum::<f64>() / pixels.len().max(1) as f64
    }

    /// Writes the picture to a PNG or JPEG file.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        let [height, width, _] = self.shape;
        let size = |pixels: usize| {
            u32::try_from(pixels).map_err(|_| PyValueError::new_err("the picture is too large"))
        };
        image::RgbImage::from_raw(size(width)?, size(height)?, self.data.to_vec())
            .ok_or_else(|| PyValueError::new_err("the picture has too few pixels"))?
            .save(&path)
            .map_err(|error| PyOSError::new_err(format!("{}: {error}", path.display())))
    }
}
