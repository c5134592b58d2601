//! A Rust tensor for Python, and a function that takes tensors of any library.

use std::sync::Arc;

use dlpack_traits::DLPackExport;
use dlpack_traits::python::PyTensor;
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
fn mean(tensor: PyTensor<'_, u8>) -> f64 {
    let elements = tensor.elements();
    let sum: f64 = elements.iter().map(f64::from).sum();
    sum / elements.len() as f64
}

#[pymodule]
mod {{crate_name}} {
    #[pymodule_export]
    use super::{Image, mean};
    use dlpack_traits::python;
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(m: &Bound<'_, PyModule>) -> PyResult<()> {
        python::class::<Image>().array_like().install(m.py())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_reads_an_image() -> PyResult<()> {
        Python::initialize();
        Python::attach(|py| {
            // The module registers the class.
            let module = pyo3::wrap_pymodule!({{crate_name}})(py).into_bound(py);
            let image = module.getattr("Image")?.call_method1("gradient", (2, 256))?;
            let mean: f64 = module.call_method1("mean", (image,))?.extract()?;
            assert_eq!(mean, 127.5);
            Ok(())
        })
    }
}
