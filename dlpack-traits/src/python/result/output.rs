//! Allocates the result of a function: [`allocate_output`].

use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;

use pyo3::prelude::*;

use super::library::{LibraryOf, object_like};
use crate::copy::Copied;
use crate::dims::{AsDims, Dims};
use crate::element::AnyBits;
use crate::error::Error;
use crate::export::copied_managed;
use crate::import::{Exclusive, ImportError, ImportedTensor};
use crate::storage::ALIGNMENT;

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
/// than memory can hold.
pub fn allocate_output<'py, T: AnyBits>(
    py: Python<'py>,
    like: &(impl LibraryOf + ?Sized),
    shape: &(impl AsDims + ?Sized),
) -> PyResult<PyOutput<'py, T>> {
    let tensor = Dims::of(shape).and_then(|shape| zeroed::<T>(shape.as_slice()));
    // The shape is a value of the caller, not a tensor that cannot be exported.
    let tensor = tensor.map_err(ImportError::from)?;
    let like = like.object(py).clone().unbind();
    Ok(PyOutput { tensor, like, result: PhantomData })
}

/// Allocates a tensor that no one else has access to.
fn zeroed<T: AnyBits>(shape: &[i64]) -> Result<ImportedTensor, Error> {
    let shape: Vec<i64> = shape.iter().chain(T::AXES).copied().collect();
    copied_managed(Copied::zeroed(T::DTYPE, &shape)?)?.import()
}

/// A zeroed, writable array that [`allocate_output`] makes. A `#[pyfunction]` can return it.
pub struct PyOutput<'py, T> {
    tensor: ImportedTensor,
    like: Py<PyAny>,
    result: PhantomData<fn() -> (&'py (), T)>,
}

impl<T: AnyBits> PyOutput<'_, T> {
    /// The elements, in row-major order.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        const { assert!(align_of::<T>() <= ALIGNMENT, "outputs are aligned to 64 bytes") };
        match self.tensor.exclusive().and_then(Exclusive::into_mut_slice) {
            Ok(elements) => elements,
            Err(_) => unreachable!("the tensor is contiguous and has no other owner"),
        }
    }
}

impl<T> PyOutput<'_, T> {
    /// The size of each dimension.
    pub fn shape(&self) -> &[i64] {
        self.tensor.shape()
    }
}

/// Returns an object of the library of the argument:
/// [`IntoPython::into_object_like`](super::IntoPython::into_object_like).
impl<'py, T> IntoPyObject<'py> for PyOutput<'py, T> {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        object_like(self.like.bind(py), self.tensor)
    }
}

impl<T> fmt::Debug for PyOutput<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PyOutput").field(&self.tensor).finish()
    }
}
