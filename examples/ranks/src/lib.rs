//! A gradient of a model, one in each of several processes.

use dlpack_traits::{DLPackExport, SharedBuffer, Storage};
use pyo3::prelude::*;

/// Numbers that Rust owns and consumers may write.
#[pyclass(frozen, module = "dlpack_ranks")]
#[derive(DLPackExport)]
struct Gradient {
    data: SharedBuffer<f32>,
    shape: [usize; 1],
}

#[pymethods]
impl Gradient {
    /// A gradient of zeros.
    #[new]
    fn new(len: usize) -> PyResult<Self> {
        Ok(Self { data: SharedBuffer::zeroed(len)?, shape: [len] })
    }

    /// Sets all elements to one number.
    fn fill(&self, value: f32) {
        for index in 0..self.data.len() {
            self.data.store(index, value);
        }
    }

    /// The smallest and the largest element, found by Rust.
    fn extremes(&self) -> (f32, f32) {
        let numbers = (0..self.data.len()).map(|index| self.data.load(index));
        numbers.fold((f32::INFINITY, f32::NEG_INFINITY), |(least, most), number| {
            (least.min(number), most.max(number))
        })
    }

    /// Address of the first byte.
    #[getter]
    fn data_ptr(&self) -> usize {
        self.data.data().as_ptr().addr()
    }

    #[getter]
    fn nbytes(&self) -> usize {
        self.data.len() * size_of::<f32>()
    }
}

#[pymodule]
fn dlpack_ranks(m: &Bound<'_, PyModule>) -> PyResult<()> {
    dlpack_traits::python::add_class::<Gradient>(m)
}
