//! Structs that derive `DLPackImport` as function arguments: [`FromTensor`].

use core::ops::{Deref, DerefMut};

use pyo3::Borrowed;
use pyo3::prelude::*;

use super::advice::mismatched;
use super::checks;
use crate::import::DLPackImport;

/// An argument of a `#[pyfunction]` or a method that is built from an array: a struct
/// that derives [`DLPackImport`].
///
/// ```ignore,no_run,standalone_crate
/// use dlpack_traits::python::FromTensor;
/// use dlpack_traits::{DLPackImport, ImportedStorage};
/// use pyo3::prelude::*;
///
/// /// `_` is a dimension of any size, which no field contains.
/// #[derive(DLPackImport)]
/// #[dlpack(shape(_, 3))]
/// struct Points { data: ImportedStorage<f64> }
///
/// #[pyfunction]
/// fn largest(points: FromTensor<Points>) -> PyResult<f64> {
///     Ok(points.data.elements()?.iter().fold(f64::NEG_INFINITY, f64::max))
/// }
/// ```
///
/// The field `0` is the value; methods of the struct can be called on the argument
/// itself. The wrapper exists because PyO3 converts the arguments of a function by its own
/// trait, and a struct that is a `#[pyclass]` already implements it.
///
/// # Errors
///
/// Python raises `TypeError` if the argument is not an array, or has a dtype that the
/// struct does not accept; `ValueError` for every other requirement of the struct, and for
/// a value that its `validate` rejects; and what the array's `__dlpack__` raises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FromTensor<T>(pub T);

impl<'py, T: DLPackImport> FromPyObject<'_, 'py> for FromTensor<T> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let tensor = checks::import(&object, None)?;
        let (dtype, device) = (tensor.dtype(), tensor.device());
        match T::from_dlpack(tensor) {
            Ok(value) => Ok(Self(value)),
            Err(error) => Err(mismatched(&object, dtype, device, error)),
        }
    }
}

impl<T> Deref for FromTensor<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for FromTensor<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}
