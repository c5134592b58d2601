//! Arrays as function arguments: [`PyTensor`], and what a function does with one: [`Access`].

use core::convert::Infallible;
use core::fmt;
use core::marker::PhantomData;
use core::ops::Deref;

use pyo3::Borrowed;
use pyo3::prelude::*;

use super::checks::{self, ANY_RANK, FixedRank, Rank};
use super::mismatch::{self, Passed};
use crate::device::Device;
use crate::dtype::DataType;
use crate::element::Readable;
use crate::import::{
    AnyElement, As, Conversion, Elements, ElementsAs, ImportedElement, ImportedTensor, Number,
};
use crate::python::import::advice::Library;
use crate::python::import::import_object::other_owner;
use crate::python::interpreter::symbols::is_attached;
use crate::stream_arg::StreamArg;

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
/// | [`PyTensor<'_, As<f32>>`](crate::As) | every dtype whose values are `f32`s, converted while they are read |
/// | `Option<PyTensor<'_, f32>>` | an array or `None` |
/// | [`PyTensors<'_, f32>`](super::PyTensors) | a list or tuple of arrays, and `*args` |
/// | [`Convert<PyTensor<'_, f32>>`](super::Convert) | lists, numbers and other dtypes too, which are copied |
///
/// If `T` is an array such as `[f32; 3]`, or a struct that derives [`Element`](crate::Element) over
/// one, `N` does not count the last dimensions, which are those of an element:
/// `PyTensor<'_, [f32; 3], 1>` accepts arrays of shape `(n, 3)`. These dimensions must be contiguous, because an
/// element is read as a whole: those of a column-major array are not, and [`Convert`](super::Convert) copies them.
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
///
/// Signatures leave the parameter `A` out: [`PyTensorMut`](super::PyTensorMut) and
/// [`PyDeviceTensor`](super::PyDeviceTensor) are names of this type with another access.
pub struct PyTensor<'py, T = AnyElement, const N: usize = ANY_RANK, A: Access = Read> {
    pub(in crate::python) tensor: A::Tensor,
    pub(super) object: Py<PyAny>,
    /// The library of what was passed, if NumPy made the object of it.
    made_of: Option<Library>,
    checked: PhantomData<fn() -> (&'py (), T)>,
}

/// What a function does with an array argument: [`Read`], [`Write`](super::tensor_mut::Write) or
/// [`OnDevice`](super::device_tensor::OnDevice).
pub trait Access: Sized {
    /// The imported array.
    type Tensor: fmt::Debug;

    /// The name of the argument type.
    const NAME: &'static str;

    /// What the message about a wrong dtype says before the conversion.
    const NOTE: &'static str = "";

    /// Imports an argument, and checks it against its type.
    ///
    /// # Errors
    ///
    /// Those of the argument.
    fn import<T: ImportedElement>(object: &Bound<'_, PyAny>, rank: usize)
    -> PyResult<Self::Tensor>;

    /// The array in any memory.
    fn imported(tensor: &Self::Tensor) -> &ImportedTensor;

    /// The device, and the stream on which the library uses the array, if they are known.
    fn device_stream(_: &Self::Tensor) -> Option<(Device, StreamArg<'_>)> {
        None
    }
}

/// The function reads the elements.
#[derive(Debug)]
pub struct Read(());

impl Access for Read {
    type Tensor = ImportedTensor;

    const NAME: &'static str = "PyTensor";

    #[inline]
    fn import<T: ImportedElement>(
        object: &Bound<'_, PyAny>,
        rank: usize,
    ) -> PyResult<ImportedTensor> {
        let tensor = checks::import::<T>(object)?;
        checks::check::<T>(object.into(), &tensor, rank, "")?;
        Ok(tensor)
    }

    fn imported(tensor: &ImportedTensor) -> &ImportedTensor {
        tensor
    }
}

/// An argument of records: a structured array of NumPy with the fields of the struct, zero-copy.
///
/// ```ignore,no_run,standalone_crate
/// use dlpack_traits::Record;
/// use dlpack_traits::python::PyRecords;
/// use pyo3::prelude::*;
///
/// #[derive(Clone, Copy, Record)]
/// #[dlpack(any_bits)]
/// #[repr(C)]
/// struct Particle { position: [f32; 3], mass: f32, id: u32 }
///
/// #[pyfunction]
/// fn total_mass(particles: PyRecords<'_, Particle>) -> f32 {
///     particles.elements().iter().map(|particle| particle.mass).sum()
/// }
/// ```
///
/// The array has the same names in the same order, dtypes in native byte order, shapes, offsets and
/// itemsize, and any strides. Other objects, and arrays of other fields, are a `TypeError` that names the
/// first difference. The imported tensor has a last axis of the bytes of a record.
/// [`PyTensorMut<'_, Particle, 1>`](super::PyTensorMut) writes the records.
pub type PyRecords<'py, T, const N: usize = 1> = PyTensor<'py, T, N>;

impl<'py, T: ImportedElement, const N: usize, A: Access> FromPyObject<'_, 'py>
    for PyTensor<'py, T, N, A>
{
    type Error = PyErr;
    #[cfg(feature = "stubs")]
    const INPUT_TYPE: pyo3::inspect::PyStaticExpr =
        super::super::stubs::Argument::<T, N, ANY_RANK>::HINT;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self::new(A::import::<T>(&object, N)?, object.to_owned().unbind()))
    }
}

impl<T, const N: usize, A: Access> PyTensor<'_, T, N, A> {
    /// Wraps a checked tensor.
    #[inline]
    pub(super) const fn new(tensor: A::Tensor, object: Py<PyAny>) -> Self {
        Self { tensor, object, made_of: None, checked: PhantomData }
    }

    /// As [`new`](Self::new), for an object that NumPy made of one of another library.
    #[inline]
    pub(super) fn made_of(self, made_of: Option<Library>) -> Self {
        Self { made_of, ..self }
    }

    /// What the caller passed. `object` is that of this argument.
    const fn passed<'a, 'p>(&self, object: &'a Bound<'p, PyAny>) -> Passed<'a, 'p> {
        Passed { object, library: self.made_of }
    }

    /// The Python object that was passed.
    #[inline]
    pub const fn as_object(&self) -> &Py<PyAny> {
        &self.object
    }
}

impl<T: Readable, const N: usize, A: Access<Tensor = ImportedTensor>> PyTensor<'_, T, N, A> {
    /// The elements, read by value. Other owners may write them meanwhile.
    #[inline]
    pub fn elements(&self) -> Elements<'_, T> {
        match self.tensor.elements() {
            Ok(elements) => elements,
            Err(_) => unreachable!("the argument was checked"),
        }
    }
}

impl<T: Number, C: Conversion, const N: usize> PyTensor<'_, As<T, C>, N> {
    /// The elements, read by value and converted to `T`: [`ImportedTensor::elements_as`].
    #[inline]
    pub fn elements(&self) -> ElementsAs<'_, T> {
        ElementsAs::new(&self.tensor)
    }
}

impl<T: ImportedElement, const N: usize, A: Access> PyTensor<'_, T, N, A> {
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
        let mut dims = [0; N];
        for (to, &dim) in dims.iter_mut().zip(checks::outer_shape::<T>(A::imported(&self.tensor))) {
            // A dimension beyond the address space occurs only in an empty tensor.
            *to = usize::try_from(dim).unwrap_or(usize::MAX);
        }
        dims
    }
}

impl<T, const N: usize, A: Access<Tensor = ImportedTensor>> PyTensor<'_, T, N, A> {
    /// Returns the `TypeError` for an array of a dtype that the function does not accept:
    /// "argument 'x': expected float32, got int64", with the conversion to the first accepted dtype
    /// that keeps all values, if one does, and otherwise to the one that keeps most. PyO3 adds the
    /// name only to the errors of its own conversion of arguments, not to those that the body of a
    /// function returns.
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
    ///         _ => return Err(array.dtype_error(py, "array", &[DataType::F32, DataType::F64])),
    ///     };
    ///     Ok(sum / array.numel() as f64)
    /// }
    /// ```
    pub fn dtype_error(&self, py: Python<'_>, name: &str, expected: &[DataType]) -> PyErr {
        self.error_of_dtypes(py, expected, Some(name))
    }

    /// As [`dtype_error`](Self::dtype_error), for an argument without a name.
    pub(in crate::python) fn error_of_dtypes(
        &self,
        py: Python<'_>,
        expected: &[DataType],
        name: Option<&str>,
    ) -> PyErr {
        let passed = self.passed(self.object.bind(py));
        mismatch::of_dtypes(passed, &self.tensor, expected, name, A::NOTE)
    }

    /// As [`dtype_error`](Self::dtype_error), for [`dispatch!`](crate::python::dispatch).
    #[doc(hidden)]
    #[cold]
    pub fn not_accepted(&self, name: &str, expected: &[DataType]) -> PyErr {
        Python::attach(|py| self.dtype_error(py, name, expected))
    }

    /// Converts to a tensor that may be kept when the function has returned:
    /// [`ImportedStorage`](crate::ImportedStorage) makes it the `data` field of a struct. Of a tensor of
    /// PyTorch, which `module.half()` gives another memory, it keeps the memory of now by a call of
    /// `x.detach()`, unless this thread has released the GIL. A mutable
    /// slice of a contiguous [`PyTensorMut`](super::PyTensorMut) requires it:
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
    pub fn into_owned(self) -> ImportedTensor {
        // The thread that has the GIL may wait for this one.
        if !is_attached() {
            return self.tensor;
        }
        Python::attach(|py| {
            let (object, tensor) = (self.object.bind(py), self.tensor);
            match other_owner(object, &tensor) {
                Ok(other) => other.unwrap_or(tensor),
                // Python code of the class may raise it.
                Err(exit) => {
                    exit.write_unraisable(py, Some(object));
                    tensor
                }
            }
        })
    }
}

impl<'py, const N: usize, A: Access<Tensor = ImportedTensor>> PyTensor<'py, AnyElement, N, A> {
    /// The argument with elements of type `U`, for [`dispatch!`](crate::python::dispatch).
    #[doc(hidden)]
    pub fn typed_as<U: Readable>(self, name: &str) -> PyResult<PyTensor<'py, U, N, A>> {
        const { assert!(U::AXES.is_empty(), "`dispatch!` takes types such as `f32`, and not arrays") };
        if self.dtype() != U::DTYPE {
            return Err(self.not_accepted(name, &[U::DTYPE]));
        }
        Python::attach(|py| {
            checks::check::<U>(self.passed(self.object.bind(py)), &self.tensor, N, "")
        })?;
        Ok(PyTensor::<U, N, A>::new(self.tensor, self.object).made_of(self.made_of))
    }
}

/// As [`PyTensor::into_owned`].
impl<T, const N: usize> From<PyTensor<'_, T, N>> for ImportedTensor {
    fn from(argument: PyTensor<'_, T, N>) -> Self {
        argument.into_owned()
    }
}

impl<T, const N: usize, A: Access<Tensor = ImportedTensor>> Deref for PyTensor<'_, T, N, A> {
    type Target = ImportedTensor;

    #[inline]
    fn deref(&self) -> &ImportedTensor {
        &self.tensor
    }
}

/// Returns the object that was passed, so that a function can return its `out` argument.
impl<'py, T, const N: usize, A: Access> IntoPyObject<'py> for PyTensor<'py, T, N, A> {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = Infallible;

    fn into_pyobject(self, py: Python<'py>) -> Result<Self::Output, Infallible> {
        Ok(self.object.into_bound(py))
    }
}

impl<T, const N: usize, A: Access> fmt::Debug for PyTensor<'_, T, N, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple(A::NAME).field(&self.tensor).finish()
    }
}
