//! Arguments of a bounded size: [`AtMost`].

use core::ops::{Deref, DerefMut};

use pyo3::Borrowed;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::import::{ImportError, ImportPolicy};
use crate::python::convert::{discard, is_exit};
use crate::python::import::from_dlpack::import_unexplained;
use crate::python::import::import_options::ImportOptions;

/// An array argument whose elements have together at most `BYTES` bytes.
///
/// A broadcast array may have any number of elements in memory of one byte, and a function that
/// copies it allocates memory for all of them. This bounds what a caller can make it allocate; it
/// is checked before [`Convert`](super::Convert) and [`FromTensor`](super::FromTensor) copy.
///
/// ```ignore,no_run,standalone_crate
/// use dlpack_traits::python::{AtMost, Convert, PyTensor};
/// use pyo3::prelude::*;
///
/// /// Up to 64 MiB, which are sorted in a copy.
/// #[pyfunction]
/// fn median(x: AtMost<Convert<PyTensor<'_, f64>>, { 64 << 20 }>) -> PyResult<f64> {
///     let mut values = x.elements().to_vec()?;
///     values.sort_by(f64::total_cmp);
///     Ok(values[values.len() / 2])
/// }
/// ```
///
/// It wraps every argument. The bytes are those of the tensor that is passed, before a conversion.
/// Objects that are not tensors, such as lists, are not bounded: they have their elements in memory.
/// A [`PyTensor`](super::PyTensor) copies nothing, so a function with such an argument may also
/// compare [`nbytes`](crate::ImportedTensor::nbytes) itself.
///
/// # Errors
///
/// `ValueError` for more bytes, `TypeError` for a capsule, which can be imported only once, and
/// those of the argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtMost<A, const BYTES: u64>(pub A);

impl<'a, 'py, A: FromPyObject<'a, 'py>, const BYTES: u64> FromPyObject<'a, 'py>
    for AtMost<A, BYTES>
{
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if object.is_exact_instance_of::<PyCapsule>() {
            return Err(PyTypeError::new_err(
                "expected an object with `__dlpack__`, got a capsule, whose size cannot be \
                 checked first; pass the object that it was made of",
            ));
        }
        match import_unexplained(&object, &ImportOptions::new()) {
            Ok(tensor) => {
                let policy = ImportPolicy::new().max_bytes(BYTES);
                policy.check_nbytes(tensor.nbytes()).map_err(ImportError::from)?;
            }
            Err(error) if is_exit(object.py(), &error) => return Err(error),
            // The argument has the better error, or converts the object.
            Err(error) => discard(object.py(), error),
        }
        A::extract(object).map(Self).map_err(Into::into)
    }
}

impl<A, const BYTES: u64> Deref for AtMost<A, BYTES> {
    type Target = A;

    #[inline]
    fn deref(&self) -> &A {
        &self.0
    }
}

impl<A, const BYTES: u64> DerefMut for AtMost<A, BYTES> {
    #[inline]
    fn deref_mut(&mut self) -> &mut A {
        &mut self.0
    }
}
