//! A class that keeps an array argument, and returns parts of it.

#![expect(clippy::needless_pass_by_value, reason = "PyO3 passes converted arguments by value")]

use dlpack_traits::ImportedStorage;
use dlpack_traits::python::{IntoPython, Numpy, PyLike, PyTensor};
use pyo3::prelude::*;

/// An array of any dtype, and its parts in its library.
#[pyclass(frozen, module = "dlpack_testing.kept")]
struct Kept {
    data: ImportedStorage,
    array: Py<PyAny>,
}

impl Kept {
    fn returned<'py>(&self, py: Python<'py>, part: ImportedStorage) -> PyResult<PyLike<'py>> {
        part.into_object_like(py, &self.array)
    }
}

#[pymethods]
impl Kept {
    /// Keeps an array, whose library is that of `like`.
    #[new]
    fn new(array: PyTensor<'_>, like: Py<PyAny>) -> Self {
        Self { data: array.into_owned().into(), array: like }
    }

    fn __getitem__<'py>(&self, py: Python<'py>, index: usize) -> PyResult<PyLike<'py>> {
        self.select(py, 0, index)
    }

    fn select<'py>(&self, py: Python<'py>, axis: usize, at: usize) -> PyResult<PyLike<'py>> {
        self.returned(py, self.data.select(axis, at)?)
    }

    fn narrow<'py>(
        &self,
        py: Python<'py>,
        axis: usize,
        start: usize,
        end: usize,
    ) -> PyResult<PyLike<'py>> {
        self.returned(py, self.data.narrow(axis, start..end)?)
    }

    fn permute<'py>(&self, py: Python<'py>, axes: Vec<usize>) -> PyResult<PyLike<'py>> {
        self.returned(py, self.data.permute(&axes)?)
    }

    fn reverse<'py>(&self, py: Python<'py>, axis: usize) -> PyResult<PyLike<'py>> {
        self.returned(py, self.data.reverse(axis)?)
    }
}

/// A row of an array that is not kept.
#[pyfunction]
fn row(x: PyTensor<'_>, index: usize) -> PyResult<Numpy<ImportedStorage>> {
    Ok(Numpy(x.into_owned().select(0, index)?.into()))
}

pub(crate) fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let module = PyModule::new(m.py(), "kept")?;
    module.add_class::<Kept>()?;
    module.add_function(wrap_pyfunction!(row, &module)?)?;
    m.add_submodule(&module)
}
