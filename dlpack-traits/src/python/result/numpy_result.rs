//! Results and attributes that become NumPy arrays: [`Numpy`], [`OwnedTensor`],
//! [`SharedTensor`].

use pyo3::prelude::*;

use super::IntoPython;
use crate::element::{AnyBits, Element};
use crate::export::{DLPackExport, OwnedTensor, SharedTensor};

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
