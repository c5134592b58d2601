//! Arrays as function arguments, for writing: [`PyTensorMut`].

use core::convert::Infallible;
use core::fmt;
use core::marker::PhantomData;
use core::ops::Deref;

use pyo3::Borrowed;
use pyo3::prelude::*;

use super::checks::{self, ANY_RANK, FixedRank, Rank};
use super::exceptions;
use super::tensor::dims_of;
use crate::dtype::DataType;
use crate::element::Readable;
use crate::error::Error;
use crate::import::{AnyElement, Elements, ElementsMut, ImportedElement, ImportedTensor};

/// An array argument whose elements the function changes in place. Otherwise it is like
/// [`PyTensor`](super::PyTensor).
///
/// ```ignore,no_run,standalone_crate
/// use dlpack_traits::python::PyTensorMut;
/// use pyo3::prelude::*;
///
/// /// Multiplies each element.
/// #[pyfunction]
/// fn scale(mut array: PyTensorMut<'_, f32>, factor: f32) {
///     array.elements_mut().map_in_place(|value| value * factor);
/// }
/// ```
///
/// # Errors
///
/// Those of [`PyTensor`](super::PyTensor); `TypeError` for a masked array, whose masked elements
/// the function would change too; and `ValueError` if the array is read-only, if
/// its elements share memory (as those of a broadcast array do), if it requires a gradient
/// (autograd does not record the changes: pass `x.detach()`), and for a capsule of DLPack
/// before 1.0, which does not state whether its memory may be written. JAX exports its
/// immutable arrays by such capsules.
///
/// The export of the producer states whether the memory may be written, and is trusted.
/// PyTorch exports all of its tensors as writable, also one that was made from read-only
/// memory.
pub struct PyTensorMut<'py, T = AnyElement, const N: usize = ANY_RANK> {
    tensor: ImportedTensor,
    object: Py<PyAny>,
    checked: PhantomData<fn() -> (&'py (), T)>,
}

impl<'py, T: ImportedElement, const N: usize> FromPyObject<'_, 'py> for PyTensorMut<'py, T, N> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let tensor = checks::import_mut(&object, T::DTYPE)?;
        checks::check_mut::<T>(&object, &tensor, N)?;
        Ok(Self { tensor, object: object.to_owned().unbind(), checked: PhantomData })
    }
}

impl<T: Readable, const N: usize> PyTensorMut<'_, T, N> {
    /// The elements, read by value. Other owners may write them meanwhile.
    #[inline]
    pub fn elements(&self) -> Elements<'_, T> {
        match self.tensor.elements() {
            Ok(elements) => elements,
            Err(_) => unreachable!("the argument was checked"),
        }
    }

    /// The elements, read and written by value. Other owners may read and write them
    /// meanwhile.
    #[inline]
    pub fn elements_mut(&mut self) -> ElementsMut<'_, T> {
        match self.tensor.elements_mut() {
            Ok(elements) => elements,
            Err(_) => unreachable!("the argument was checked"),
        }
    }
}

impl<const N: usize> PyTensorMut<'_, AnyElement, N> {
    /// The elements as `U`, read and written by value: [`ImportedTensor::elements_mut`].
    ///
    /// # Errors
    ///
    /// [`Error::ElementMismatch`](crate::Error::ElementMismatch) for elements of another
    /// type, and the other errors of [`ImportedTensor::elements_mut`].
    #[inline]
    pub fn elements_mut<U: Readable>(&mut self) -> Result<ElementsMut<'_, U>, Error> {
        self.tensor.elements_mut()
    }
}

impl<T: ImportedElement, const N: usize> PyTensorMut<'_, T, N> {
    /// The size of each dimension. It compiles only if the type names their number;
    /// otherwise use [`shape`](ImportedTensor::shape).
    #[inline]
    pub fn dims(&self) -> [usize; N]
    where
        Rank<N>: FixedRank,
    {
        dims_of::<T, N>(&self.tensor)
    }
}

impl<T, const N: usize> PyTensorMut<'_, T, N> {
    /// The Python object that was passed.
    #[inline]
    pub const fn as_object(&self) -> &Py<PyAny> {
        &self.object
    }

    /// Returns the `TypeError` for an array of a dtype that the function does not accept, with
    /// the conversion to the first accepted one that keeps all values, if one does, and otherwise
    /// to the first one.
    ///
    /// ```ignore,no_run,standalone_crate
    /// use dlpack_traits::{DataType, python::PyTensorMut};
    /// use pyo3::prelude::*;
    ///
    /// #[pyfunction]
    /// fn negate(py: Python<'_>, mut array: PyTensorMut<'_>) -> PyResult<()> {
    ///     match array.dtype() {
    ///         DataType::F32 => array.elements_mut::<f32>()?.map_in_place(|value| -value),
    ///         DataType::F64 => array.elements_mut::<f64>()?.map_in_place(|value| -value),
    ///         _ => return Err(array.dtype_error(py, &[DataType::F32, DataType::F64])),
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub fn dtype_error(&self, py: Python<'_>, expected: &[DataType]) -> PyErr {
        exceptions::of_dtypes_to_change(self.object.bind(py), &self.tensor, expected, None)
    }

    /// [`dtype_error`](Self::dtype_error) with the name of the argument in the message:
    /// "argument 'x': expected float32, got int64". PyO3 adds the name only to the errors of its
    /// own conversion of arguments, not to those that the body of a function returns.
    pub fn named_dtype_error(&self, py: Python<'_>, name: &str, expected: &[DataType]) -> PyErr {
        exceptions::of_dtypes_to_change(self.object.bind(py), &self.tensor, expected, Some(name))
    }

    /// Converts to a tensor that may be kept when the function has returned:
    /// [`ImportedStorage`](crate::ImportedStorage) makes it the `data` field of a struct. A mutable
    /// slice of a contiguous array requires it:
    ///
    /// ```ignore,no_run,standalone_crate
    /// use dlpack_traits::python::PyTensorMut;
    /// use pyo3::prelude::*;
    ///
    /// /// Sorts a contiguous array in place. No other thread may use the array meanwhile.
    /// #[pyfunction]
    /// fn sort(array: PyTensorMut<'_, f32>) -> PyResult<()> {
    ///     let mut tensor = array.into_owned();
    ///     // SAFETY: 1. This function does not call Python while the slice exists, and its
    ///     // documentation requires that no other thread accesses the array.
    ///     let slice = unsafe { tensor.assume_exclusive() }?.into_mut_slice::<f32>()?;
    ///     slice.sort_by(f32::total_cmp);
    ///     Ok(())
    /// }
    /// ```
    #[inline]
    pub fn into_owned(self) -> ImportedTensor {
        self.tensor
    }
}

impl<T, const N: usize> Deref for PyTensorMut<'_, T, N> {
    type Target = ImportedTensor;

    #[inline]
    fn deref(&self) -> &ImportedTensor {
        &self.tensor
    }
}

/// Returns the object that was passed, so that a function can return its `out` argument.
impl<'py, T, const N: usize> IntoPyObject<'py> for PyTensorMut<'py, T, N> {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = Infallible;

    fn into_pyobject(self, py: Python<'py>) -> Result<Self::Output, Infallible> {
        Ok(self.object.into_bound(py))
    }
}

impl<T, const N: usize> fmt::Debug for PyTensorMut<'_, T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PyTensorMut").field(&self.tensor).finish()
    }
}
