//! Function results: Rust tensors as objects of NumPy, or of the library of an argument.
//! [`IntoPython`] converts them; PyO3 converts [`Numpy`], [`OwnedTensor`], [`SharedTensor`] and the
//! array that [`allocate_output`] makes.

mod library;

use core::convert::{Infallible, identity};
use core::fmt;
use core::marker::PhantomData;
use core::ops::Deref;

use pyo3::prelude::*;

pub use self::library::LibraryOf;
use self::library::{object_like, object_on_device};
use crate::dims::AsDims;
use crate::element::{AnyBits, Element, Readable};
use crate::export::{DLPackExport, FieldTensor, OwnedTensor, SharedTensor};
use crate::import::ImportError;
use crate::python::convert::exchange_error;
use crate::python::numpy::{array_of, records_of};
use crate::storage::Storage;

/// Converts Rust tensors to objects of Python libraries. This crate makes no copy; JAX and MLX
/// may. Implemented for every `Send + 'static` type that implements [`DLPackExport`]: structs that
/// derive it, [`OwnedTensor`], and the arrays of the crate `ndarray` (feature `ndarray`).
///
/// The object owns the tensor: the memory is freed when the last object that shares it is
/// released. Python may write if a consumer of [`into_dlpack`](DLPackExport::into_dlpack) may:
/// [`mutability`](crate::guide::mutability) has the rule for each storage.
pub trait IntoPython: DLPackExport + Send + Sized + 'static {
    /// Converts to a NumPy array.
    ///
    /// ```no_run
    /// use dlpack_traits::{OwnedTensor, python::IntoPython};
    /// use pyo3::prelude::*;
    ///
    /// # #[allow(dead_code)]
    /// fn identity(py: Python<'_>, size: usize) -> PyResult<Bound<'_, PyAny>> {
    ///     let mut result = OwnedTensor::<f32>::zeroed(&[size, size])?; // or `MemoryError`
    ///     result.as_mut_slice().iter_mut().step_by(size + 1).for_each(|value| *value = 1.0);
    ///     result.into_numpy(py)
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// `BufferError` if the tensor cannot be exported or NumPy lacks its dtype, `RuntimeError` for
    /// elements of several lanes, `ModuleNotFoundError` without NumPy. The tensor is then released.
    fn into_numpy(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        let record = self.record_type();
        let tensor = self.into_dlpack().map_err(exchange_error)?;
        let record = record.filter(|of| of.is_of(tensor.dtype(), tensor.shape(), tensor.strides()));
        let array = array_of(py, tensor)?;
        match record {
            Some(record) => records_of(&array, record),
            None => Ok(array),
        }
    }

    /// Converts to an object of the library of an argument: a NumPy array for a NumPy
    /// array, a `torch.Tensor` for one of PyTorch.
    ///
    /// ```no_run
    /// use dlpack_traits::OwnedTensor;
    /// use dlpack_traits::python::{IntoPython, PyLike, PyTensor};
    /// use pyo3::prelude::*;
    ///
    /// # #[allow(dead_code)]
    /// fn row_norms<'py>(py: Python<'py>, x: PyTensor<'py, f32, 2>) -> PyResult<PyLike<'py>> {
    ///     let [rows, columns] = x.dims();
    ///     let values = x.elements().to_vec()?;
    ///     let norm = |row: &[f32]| row.iter().map(|value| value * value).sum::<f32>().sqrt();
    ///     let norms = (0..rows).map(|row| norm(&values[row * columns..][..columns])).collect();
    ///     OwnedTensor::new(norms, &[rows])?.into_object_like(py, &x)
    /// }
    /// ```
    ///
    /// It uses the exchange table of the argument's type if there is one. For a NumPy array, NumPy's
    /// C API makes the result, or `numpy.from_dlpack` if that API cannot make it. Otherwise it calls
    /// the `from_dlpack` of the argument's array API namespace (`__array_namespace__`), or
    /// that of its type, module or package. A subclass gets an object of the library, not of the
    /// subclass.
    ///
    /// An argument without any of these, such as a capsule, gets a NumPy array. So does an object
    /// whose class has an exchange table but does not accept the tensor, if its module has no
    /// `from_dlpack`: most classes of [`add_class`](crate::python::add_class).
    ///
    /// `like` can also be a class of arrays, or a module such as `torch` or `jax.numpy`. An argument of
    /// TensorFlow gets a NumPy array, because it has no such `from_dlpack`. An array of pyarrow 26 gets
    /// one, which has one dimension and no `bool` or complex numbers: pyarrow raises for other tensors.
    ///
    /// A tensor on the host with negative strides is copied for every library but NumPy: PyTorch, JAX and
    /// MLX reject them, and Paddle reads other memory.
    ///
    /// Records become a structured array of NumPy, because no other library has them.
    ///
    /// For a [`PyDeviceTensor`](crate::python::PyDeviceTensor) and a tensor on its device, the object
    /// is ready for work on the stream of the argument.
    ///
    /// # Errors
    ///
    /// `BufferError` if the tensor cannot be exported, and what the library raises, for example for
    /// a dtype that it does not have. `TypeError` if a `from_dlpack` makes another dtype or shape, as
    /// JAX does of 64-bit elements by default, and if `like` is `None`, text, or a module without
    /// arrays. On an error the
    /// tensor is released. For a tensor on the device of a `PyDeviceTensor`, `TypeError` if no
    /// library was found.
    fn into_object_like<'py, L: LibraryOf + ?Sized>(
        self,
        py: Python<'py>,
        like: &L,
    ) -> PyResult<PyLike<'py>> {
        // No other library has records.
        if self.record_type().is_some() {
            return self.into_numpy(py).map(PyLike);
        }
        if let Some((device, stream)) = like.device_stream() {
            if self.tensor().map_err(exchange_error)?.device() == device {
                return object_on_device(like.object(py), self, stream).map(PyLike);
            }
        }
        object_like(like.object(py), self.into_dlpack().map_err(exchange_error)?).map(PyLike)
    }
}

impl<E: DLPackExport + Send + 'static> IntoPython for E {}

/// An array in the library of an argument, which [`IntoPython::into_object_like`] makes and a
/// `#[pyfunction]` returns. In a stub it has the type of the argument, with its dtype.
///
/// A function whose result has another dtype returns a [`Bound<'py, PyAny>`](Bound), which is `Any` in a
/// stub:
///
/// ```no_run
/// use dlpack_traits::OwnedTensor;
/// use dlpack_traits::python::{IntoPython, PyTensor};
/// use pyo3::prelude::*;
///
/// # #[allow(dead_code)]
/// fn signs<'py>(py: Python<'py>, x: PyTensor<'py, f32, 1>) -> PyResult<Bound<'py, PyAny>> {
///     let signs = x.elements().iter().map(|value| value.is_sign_negative()).collect();
///     Ok(OwnedTensor::<bool>::from_vec(signs).into_object_like(py, &x)?.into())
/// }
/// ```
#[derive(Clone, Debug)]
pub struct PyLike<'py>(Bound<'py, PyAny>);

impl PyLike<'_> {
    /// The object without the lifetime of the call.
    pub fn unbind(self) -> Py<PyAny> {
        self.0.unbind()
    }
}

impl<'py> Deref for PyLike<'py> {
    type Target = Bound<'py, PyAny>;

    fn deref(&self) -> &Bound<'py, PyAny> {
        &self.0
    }
}

impl<'py> From<Bound<'py, PyAny>> for PyLike<'py> {
    fn from(array: Bound<'py, PyAny>) -> Self {
        Self(array)
    }
}

impl<'py> From<PyLike<'py>> for Bound<'py, PyAny> {
    fn from(array: PyLike<'py>) -> Self {
        array.0
    }
}

impl<'py> IntoPyObject<'py> for PyLike<'py> {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = Infallible;
    #[cfg(feature = "stubs")]
    const OUTPUT_TYPE: pyo3::inspect::PyStaticExpr = crate::python::stubs::OF_ARGUMENT;

    fn into_pyobject(self, _: Python<'py>) -> Result<Bound<'py, PyAny>, Infallible> {
        Ok(self.0)
    }
}

/// A tensor that a `#[pyfunction]` returns as a NumPy array, zero-copy: see
/// [`IntoPython::into_numpy`].
///
/// ```ignore,no_run,standalone_crate
/// use dlpack_traits::DLPackExport;
/// use dlpack_traits::python::Numpy;
/// use pyo3::prelude::*;
///
/// #[derive(DLPackExport)]
/// struct Gray { data: Vec<u8>, shape: [usize; 1] }
///
/// #[pyfunction]
/// fn gray(values: Vec<u8>) -> Numpy<Gray> {
///     let shape = [values.len()];
///     Numpy(Gray { data: values, shape })
/// }
/// ```
///
/// An [`OwnedTensor`], a [`SharedTensor`] and a [`FieldTensor`] need no wrapper. In a stub they are arrays of
/// their dtype, and this one is `NDArray[Any]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numpy<E>(pub E);

/// Lets a `#[pyfunction]` return values as NumPy arrays: `value` converts to what
/// [`IntoPython::into_numpy`] takes, and the constant is the type in a stub.
macro_rules! into_numpy {
    ($($(#[$doc:meta])* [$($parameters:tt)*] $result:ty: $hint:expr, $value:expr;)*) => {$(
        $(#[$doc])*
        impl<'py, $($parameters)*> IntoPyObject<'py> for $result {
            type Target = PyAny;
            type Output = Bound<'py, PyAny>;
            type Error = PyErr;
            #[cfg(feature = "stubs")]
            const OUTPUT_TYPE: pyo3::inspect::PyStaticExpr = $hint;

            fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                $value(self).into_numpy(py)
            }
        }
    )*};
}

into_numpy! {
    [E: DLPackExport + Send + 'static] Numpy<E>: crate::python::stubs::ANY_ARRAY, |Numpy(value)| value;
    /// Returns a NumPy array. It is for results: an attribute needs an owner for each array, as a
    /// [`SharedTensor`] has, and this does not compile:
    ///
    /// ```ignore,compile_fail
    /// use dlpack_traits::OwnedTensor;
    /// use pyo3::prelude::*;
    ///
    /// #[pyclass]
    /// struct Scores {
    ///     #[pyo3(get)]
    ///     scores: OwnedTensor<f32>,
    /// }
    /// ```
    [T: Element] OwnedTensor<T>: crate::python::stubs::Array::<T>::HINT, identity;
    /// Returns a NumPy array over the memory of the records.
    [S: Storage + Send + 'static, F: Element] FieldTensor<S, F>:
        crate::python::stubs::Array::<F>::HINT, identity;
    /// Returns a NumPy array over the same memory.
    [T: AnyBits, const N: usize] SharedTensor<T, N>: crate::python::stubs::Array::<T>::HINT, identity;
    /// Returns a NumPy array over the same memory.
    [T: AnyBits, const N: usize] &SharedTensor<T, N>:
        crate::python::stubs::Array::<T>::HINT, SharedTensor::clone;
}

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
/// [`IntoPython::into_object_like`].
impl<'py, T: Element> IntoPyObject<'py> for PyOutput<'py, T> {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;
    #[cfg(feature = "stubs")]
    const OUTPUT_TYPE: pyo3::inspect::PyStaticExpr = crate::python::stubs::OF_ARGUMENT;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.result.into_object_like(py, self.like.bind(py)).map(Into::into)
    }
}

impl<T: Element> fmt::Debug for PyOutput<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PyOutput").field("shape", &self.shape()).finish_non_exhaustive()
    }
}
