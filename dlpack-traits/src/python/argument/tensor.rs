//! Arrays as function arguments, for reading: [`PyTensor`].

use core::convert::Infallible;
use core::fmt;
use core::marker::PhantomData;
use core::ops::Deref;

use pyo3::Borrowed;
use pyo3::prelude::*;

use super::checks::{self, ANY_RANK, FixedRank, Rank};
use super::exceptions;
use crate::dtype::DataType;
use crate::element::Readable;
use crate::import::{AnyElement, Elements, ImportedElement, ImportedTensor};

/// An array argument of a `#[pyfunction]` or a method: elements of type `T`, with `N`
/// dimensions, in host memory.
///
/// It accepts arrays of NumPy, PyTorch and every other library that exports DLPack, and objects of
/// classes registered with [`add_class`](crate::python::add_class), zero-copy and in any memory
/// layout. No element is converted.
///
/// ```ignore,no_run,standalone_crate
/// use dlpack_traits::python::PyTensor;
/// use pyo3::prelude::*;
///
/// /// The sum of each row.
/// #[pyfunction]
/// fn row_sums(py: Python<'_>, matrix: PyTensor<'_, f32, 2>) -> PyResult<Vec<f32>> {
///     let [rows, columns] = matrix.dims();
///     // Other Python threads run meanwhile.
///     py.detach(|| {
///         let values = matrix.elements().to_vec()?;
///         Ok((0..rows).map(|row| values[row * columns..][..columns].iter().sum()).collect())
///     })
/// }
/// ```
///
/// | type | accepts |
/// |---|---|
/// | `PyTensor<'_, f32, 2>` | `float32`, 2 dimensions |
/// | `PyTensor<'_, f32>` | `float32`, any number of dimensions |
/// | [`PyTensor<'_, AnyElement, 2>`](crate::python::AnyElement) | every dtype, 2 dimensions |
/// | `PyTensor<'_>` | every array in host memory |
/// | `Option<PyTensor<'_, f32>>` | an array or `None` |
/// | [`PyTensors<'_, f32>`](super::PyTensors) | a list or tuple of arrays, and `*args` |
/// | [`Convert<PyTensor<'_, f32>>`](super::Convert) | lists, numbers and other dtypes too, which are copied |
///
/// If `T` is an array such as `[f32; 3]`, or a struct that derives [`Element`](crate::Element) over
/// one, `N` does not count the last dimensions, which are those of an element:
/// `PyTensor<'_, [f32; 3], 1>` accepts arrays of shape `(n, 3)`.
///
/// # Access to the elements
///
/// [`elements`](Self::elements) reads the elements by value, because Python code of
/// another thread may write them meanwhile. If the dtype is known at run time only (`PyTensor<'_>`), call
/// [`ImportedTensor::elements`] (by `Deref`), which returns a `Result`: `tensor.elements::<f64>()?`. A
/// function that is generic over the elements has the bound `T: Readable`, or `T: AnyBits` for `iter`
/// and `for_each_block`, and not `T: Element`. Shape, strides, dtype and
/// device are those of [`ImportedTensor`] too.
///
/// A `PyTensor` is `Send` and `Sync`, so it can be used in [`Python::detach`]. To keep it
/// beyond the call, make it the `data` of a struct by
/// [`ImportedStorage::new`](crate::ImportedStorage::new), or convert it by
/// [`into_owned`](Self::into_owned): [`keep_argument`](crate::guide::keep_argument).
///
/// # Errors
///
/// Python raises
/// - `TypeError` if the argument is not an array, has another dtype, or has masked elements,
/// - `ValueError` if it has another number of dimensions, or is not in host memory,
/// - what its `__dlpack__` raises: `BufferError` for an array that cannot be exported.
///
/// PyO3 0.29 and later add the name of the argument to every exception, earlier versions to
/// `TypeError` only.
///
/// An object of a subclass of `numpy.ndarray` is read as the array that it is. A masked array is
/// accepted if no element is masked. [`Exact`](super::Exact) rejects subclasses.
///
/// A tensor of PyTorch that requires a gradient is read as `x.detach()` is: autograd does
/// not record what the function computes.
pub struct PyTensor<'py, T = AnyElement, const N: usize = ANY_RANK> {
    tensor: ImportedTensor,
    object: Py<PyAny>,
    checked: PhantomData<fn() -> (&'py (), T)>,
}

impl<'py, T: ImportedElement, const N: usize> FromPyObject<'_, 'py> for PyTensor<'py, T, N> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let tensor = checks::import(&object, T::DTYPE)?;
        checks::check::<T>(&object, &tensor, N)?;
        Ok(Self::new(tensor, object.to_owned().unbind()))
    }
}

impl<T, const N: usize> PyTensor<'_, T, N> {
    /// Wraps a checked tensor.
    #[inline]
    pub(super) const fn new(tensor: ImportedTensor, object: Py<PyAny>) -> Self {
        Self { tensor, object, checked: PhantomData }
    }
}

impl<T: Readable, const N: usize> PyTensor<'_, T, N> {
    /// The elements, read by value. Other owners may write them meanwhile.
    #[inline]
    pub fn elements(&self) -> Elements<'_, T> {
        match self.tensor.elements() {
            Ok(elements) => elements,
            Err(_) => unreachable!("the argument was checked"),
        }
    }
}

impl<T: ImportedElement, const N: usize> PyTensor<'_, T, N> {
    /// The size of each dimension. It compiles only if the type names their number;
    /// otherwise use [`shape`](ImportedTensor::shape).
    ///
    /// ```compile_fail
    /// # use dlpack_traits::python::PyTensor;
    /// fn of_any_rank(tensor: &PyTensor<'_, f32>) {
    ///     tensor.dims();
    /// }
    /// ```
    #[inline]
    pub fn dims(&self) -> [usize; N]
    where
        Rank<N>: FixedRank,
    {
        dims_of::<T, N>(&self.tensor)
    }
}

impl<T, const N: usize> PyTensor<'_, T, N> {
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
    /// use dlpack_traits::{DataType, python::PyTensor};
    /// use pyo3::prelude::*;
    ///
    /// #[pyfunction]
    /// fn mean(py: Python<'_>, array: PyTensor<'_>) -> PyResult<f64> {
    ///     let sum = match array.dtype() {
    ///         DataType::F32 => array.elements::<f32>()?.iter().map(f64::from).sum::<f64>(),
    ///         DataType::F64 => array.elements::<f64>()?.iter().sum(),
    ///         _ => return Err(array.dtype_error(py, &[DataType::F32, DataType::F64])),
    ///     };
    ///     Ok(sum / array.numel() as f64)
    /// }
    /// ```
    pub fn dtype_error(&self, py: Python<'_>, expected: &[DataType]) -> PyErr {
        exceptions::of_dtypes(self.object.bind(py), &self.tensor, expected, None)
    }

    /// [`dtype_error`](Self::dtype_error) with the name of the argument in the message:
    /// "argument 'x': expected float32, got int64". PyO3 adds the name only to the errors of its
    /// own conversion of arguments, not to those that the body of a function returns.
    pub fn named_dtype_error(&self, py: Python<'_>, name: &str, expected: &[DataType]) -> PyErr {
        exceptions::of_dtypes(self.object.bind(py), &self.tensor, expected, Some(name))
    }

    /// Converts to a tensor that may be kept when the function has returned:
    /// [`ImportedStorage`](crate::ImportedStorage) makes it the `data` field of a struct.
    #[inline]
    pub fn into_owned(self) -> ImportedTensor {
        self.tensor
    }
}

/// As [`PyTensor::into_owned`].
impl<T, const N: usize> From<PyTensor<'_, T, N>> for ImportedTensor {
    fn from(argument: PyTensor<'_, T, N>) -> Self {
        argument.into_owned()
    }
}

/// The size of each dimension of an argument with `N` dimensions.
#[inline]
pub(super) fn dims_of<T: ImportedElement, const N: usize>(tensor: &ImportedTensor) -> [usize; N] {
    let mut dims = [0; N];
    for (to, &dim) in dims.iter_mut().zip(checks::outer_shape::<T>(tensor)) {
        // A dimension beyond the address space occurs only in an empty tensor.
        *to = usize::try_from(dim).unwrap_or(usize::MAX);
    }
    dims
}

impl<T, const N: usize> Deref for PyTensor<'_, T, N> {
    type Target = ImportedTensor;

    #[inline]
    fn deref(&self) -> &ImportedTensor {
        &self.tensor
    }
}

/// Returns the object that was passed.
impl<'py, T, const N: usize> IntoPyObject<'py> for PyTensor<'py, T, N> {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = Infallible;

    fn into_pyobject(self, py: Python<'py>) -> Result<Self::Output, Infallible> {
        Ok(self.object.into_bound(py))
    }
}

impl<T, const N: usize> fmt::Debug for PyTensor<'_, T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PyTensor").field(&self.tensor).finish()
    }
}
