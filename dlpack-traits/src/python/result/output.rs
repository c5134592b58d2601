//! Allocates the result of a function: [`allocate_output`].

use core::fmt;
use core::marker::PhantomData;

use pyo3::prelude::*;

use super::library::{LibraryOf, object_like};
use crate::dims::AsDims;
use crate::element::{Element, Readable};
use crate::export::{DLPackExport, OwnedTensor};
use crate::import::ImportError;
use crate::python::convert::exchange_error;

/// Allocates the result of a function, to be returned as an object of the library of an
/// argument. The elements are zero.
///
/// ```ignore,no_run,standalone_crate
/// use dlpack_traits::python::{self, PyOutput, PyTensor};
/// use pyo3::prelude::*;
///
/// /// Half of each element.
/// #[pyfunction]
/// fn halved<'py>(py: Python<'py>, x: PyTensor<'py, f32>) -> PyResult<PyOutput<'py, f32>> {
///     let mut result = python::allocate_output::<f32>(py, &x, x.shape())?;
///     for (to, value) in result.as_mut_slice().iter_mut().zip(x.elements().iter()) {
///         *to = value / 2.0;
///     }
///     Ok(result)
/// }
/// ```
///
/// The memory is that of Rust: contiguous in row-major order, aligned to 64 bytes, and
/// freed when the last object that shares it is released.
///
/// # Errors
///
/// `MemoryError`; `ValueError` for a shape with a negative number, or with more elements
/// than memory can hold, and for a type of which zero is not a value.
pub fn allocate_output<'py, T: Readable>(
    py: Python<'py>,
    like: &(impl LibraryOf + ?Sized),
    shape: &(impl AsDims + ?Sized),
) -> PyResult<PyOutput<'py, T>> {
    // The shape is a value of the caller, not a tensor that cannot be exported.
    let result = OwnedTensor::zeroed(shape).map_err(ImportError::from)?;
    let like = like.object(py).clone().unbind();
    Ok(PyOutput { result, like, object: PhantomData })
}

/// A zeroed, writable array that [`allocate_output`] makes. A `#[pyfunction]` can return it.
pub struct PyOutput<'py, T> {
    result: OwnedTensor<T>,
    like: Py<PyAny>,
    object: PhantomData<&'py ()>,
}

impl<T: Element> PyOutput<'_, T> {
    /// The elements, in row-major order.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        self.result.as_mut_slice()
    }

    /// The size of each dimension.
    pub fn shape(&self) -> &[i64] {
        self.result.shape()
    }
}

/// Returns an object of the library of the argument:
/// [`IntoPython::into_object_like`](super::IntoPython::into_object_like).
impl<'py, T: Element> IntoPyObject<'py> for PyOutput<'py, T> {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        object_like(self.like.bind(py), self.result.into_dlpack().map_err(exchange_error)?)
    }
}

impl<T: Element> fmt::Debug for PyOutput<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PyOutput").field("shape", &self.shape()).finish_non_exhaustive()
    }
}
