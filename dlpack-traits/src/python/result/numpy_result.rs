//! Results that become NumPy arrays: [`Numpy`].

use pyo3::prelude::*;

use super::IntoPython;
use crate::element::Element;
use crate::export::{DLPackExport, OwnedTensor};

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

/// Returns a NumPy array.
impl<'py, T: Element> IntoPyObject<'py> for OwnedTensor<T> {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.into_numpy(py)
    }
}
