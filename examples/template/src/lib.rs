//! A Rust tensor for Python, and a function that takes tensors of any library.

use std::sync::Arc;

use dlpack_traits::{DLPackExport, ImportedTensor, python};
use pyo3::prelude::*;

/// A picture. `numpy.from_dlpack(image)` is an array over its memory.
#[pyclass(frozen, module = "{{crate_name}}")]
#[derive(DLPackExport)]
struct Image {
    data: Arc<[u8]>,
    shape: [usize; 3],
}

#[pymethods]
impl Image {
    /// A picture that goes from dark on the left to bright on the right.
    #[staticmethod]
    fn gradient(height: usize, width: usize) -> Self {
        let brightness = |column: usize| (255 * column / width.max(2).saturating_sub(1)) as u8;
        let row = (0..width).flat_map(|column| [brightness(column); 3]);
        let rows = std::iter::repeat_n(row, height);
        Self { data: rows.flatten().collect(), shape: [height, width, 3] }
    }

    /// Height, width, and 3 channels.
    #[getter]
    fn shape(&self) -> (usize, usize, usize) {
        self.shape.into()
    }
}

/// The mean of all elements of a tensor of bytes, from any library.
#[pyfunction]
#[pyo3(signature = (tensor, /))]
fn mean(#[pyo3(from_py_with = python::from_dlpack)] tensor: ImportedTensor) -> PyResult<f64> {
    let elements = tensor.elements::<u8>()?;
    let sum: f64 = elements.iter().map(f64::from).sum();
    Ok(sum / elements.len() as f64)
}

#[pymodule]
fn {{crate_name}}(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(mean, m)?)?;
    python::add_class::<Image>(m)
}
