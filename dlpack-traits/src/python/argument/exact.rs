//! Arguments whose class has no meaning beyond the elements: [`Exact`].

use alloc::format;
use core::ops::{Deref, DerefMut};

use pyo3::Borrowed;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::python::convert::class_name;
use crate::python::import::object_kind::ObjectKind;
use crate::python::numpy::NumPy;

/// An array argument that rejects objects whose class adds a meaning to a NumPy array, such as a
/// unit: those of a subclass of `numpy.ndarray`, and those without a `__dlpack__` of their own
/// that NumPy converts by `__array__` (`pint.Quantity`, `pandas.Series`).
///
/// The other arguments read the array of such an object, and drop everything else. Only masked
/// arrays with a masked element are rejected always.
///
/// ```ignore,no_run,standalone_crate
/// use dlpack_traits::python::{Exact, PyTensor};
/// use pyo3::prelude::*;
///
/// /// The sum of numbers without a unit.
/// #[pyfunction]
/// fn sum(x: Exact<PyTensor<'_, f64>>) -> f64 {
///     x.elements().iter().sum()
/// }
/// ```
///
/// It wraps every argument: [`PyTensor`](super::PyTensor), [`PyTensorMut`](super::PyTensorMut),
/// [`Convert`](super::Convert), [`FromTensor`](super::FromTensor). Classes of other libraries are
/// accepted, subclasses too: `torch.nn.Parameter` is one.
///
/// # Errors
///
/// `TypeError`, and those of the argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exact<A>(pub A);

impl<'a, 'py, A: FromPyObject<'a, 'py>> FromPyObject<'a, 'py> for Exact<A> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if !NumPy::is_array_class(&object.get_type())? {
            check(&object)?;
        }
        A::extract(object).map(Self).map_err(Into::into)
    }
}

/// Rejects an object of a subclass of NumPy's arrays, and one that only NumPy can convert.
fn check(object: &Bound<'_, PyAny>) -> PyResult<()> {
    if !matches!(ObjectKind::of(object)?, ObjectKind::NumPy | ObjectKind::Array) {
        return Ok(());
    }
    let class = class_name(&object.get_type())?;
    Err(PyTypeError::new_err(format!(
        "expected an array without a unit or another meaning, got {class}, of which only the \
         elements would be read; pass `numpy.asarray(x)`"
    )))
}

impl<A> Deref for Exact<A> {
    type Target = A;

    #[inline]
    fn deref(&self) -> &A {
        &self.0
    }
}

impl<A> DerefMut for Exact<A> {
    #[inline]
    fn deref_mut(&mut self) -> &mut A {
        &mut self.0
    }
}
