//! Converts Rust tensors to Python objects: [`IntoPython`], and to NumPy arrays where PyO3 converts
//! results and attributes: [`Numpy`], [`OwnedTensor`], [`SharedTensor`].

use pyo3::prelude::*;

use super::library::{LibraryOf, object_like, object_on_device};
use crate::element::{AnyBits, Element};
use crate::export::{DLPackExport, OwnedTensor, SharedTensor};
use crate::python::convert::exchange_error;
use crate::python::numpy::array_of;

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
    ///     let mut values = vec![0.0_f32; size * size];
    ///     values.iter_mut().step_by(size + 1).for_each(|value| *value = 1.0);
    ///     OwnedTensor::new(values, &[size, size])?.into_numpy(py)
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// `BufferError` if the tensor cannot be exported or NumPy lacks its dtype, `RuntimeError` for
    /// elements of several lanes, `ModuleNotFoundError` without NumPy. The tensor is then released.
    fn into_numpy(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        array_of(py, self.into_dlpack().map_err(exchange_error)?)
    }

    /// Converts to an object of the library of an argument: a NumPy array for a NumPy
    /// array, a `torch.Tensor` for one of PyTorch.
    ///
    /// ```no_run
    /// use dlpack_traits::OwnedTensor;
    /// use dlpack_traits::python::{IntoPython, PyTensor};
    /// use pyo3::prelude::*;
    ///
    /// # #[allow(dead_code)]
    /// fn row_norms<'py>(py: Python<'py>, x: PyTensor<'py, f32, 2>) -> PyResult<Bound<'py, PyAny>> {
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
    /// TensorFlow or pyarrow gets a NumPy array, because they have no such `from_dlpack`.
    ///
    /// A tensor on the host with negative strides is copied for every library but NumPy: PyTorch, JAX and
    /// MLX reject them, and Paddle reads other memory.
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
    ) -> PyResult<Bound<'py, PyAny>> {
        if let Some((device, stream)) = like.device_stream() {
            if self.tensor().map_err(exchange_error)?.device() == device {
                return object_on_device(like.object(py), self, stream);
            }
        }
        object_like(like.object(py), self.into_dlpack().map_err(exchange_error)?)
    }
}

impl<E: DLPackExport + Send + 'static> IntoPython for E {}

/// A tensor that a `#[pyfunction]` returns as a NumPy array, zero-copy: see
/// [`IntoPython::into_numpy`].
///
/// ```ignore,no_run,standalone_crate
/// use dlpack_traits::DLPackExport;
/// use dlpack_traits::python::Numpy;
/// use pyo3::prelude::*;
///
/// #[derive(DLPackExport)]
/// struct Image { data: Vec<u8>, shape: [usize; 3] }
///
/// #[pyfunction]
/// fn black(height: usize, width: usize) -> Numpy<Image> {
///     Numpy(Image { data: vec![0; height * width * 3], shape: [height, width, 3] })
/// }
/// ```
///
/// An [`OwnedTensor`] needs no wrapper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numpy<E>(pub E);

impl<'py, E: DLPackExport + Send + 'static> IntoPyObject<'py> for Numpy<E> {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.0.into_numpy(py)
    }
}

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
impl<'py, T: Element> IntoPyObject<'py> for OwnedTensor<T> {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.into_numpy(py)
    }
}

/// Returns a NumPy array over the same memory.
impl<'py, T: AnyBits, const N: usize> IntoPyObject<'py> for &SharedTensor<T, N> {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.clone().into_numpy(py)
    }
}

/// Returns a NumPy array over the same memory.
impl<'py, T: AnyBits, const N: usize> IntoPyObject<'py> for SharedTensor<T, N> {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.into_numpy(py)
    }
}
