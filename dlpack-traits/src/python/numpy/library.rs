//! The objects of NumPy that imports and results use: [`NumPy`].

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

use super::c_api::CApi;
use crate::python::convert::ok_unless_exit;

/// NumPy's class of arrays, its `from_dlpack`, and its C API.
pub(in crate::python) struct NumPy {
    array: Py<PyAny>,
    from_dlpack: Py<PyAny>,
    c_api: Option<CApi>,
}

/// NumPy, from its first import by this module on. The import statement alone takes as
/// long as an export.
static NUMPY: PyOnceLock<NumPy> = PyOnceLock::new();

impl NumPy {
    /// Imports NumPy.
    ///
    /// # Errors
    ///
    /// `ModuleNotFoundError` without NumPy, and what its import raises.
    pub(in crate::python) fn get(py: Python<'_>) -> PyResult<&Self> {
        if let Some(known) = Self::loaded(py) {
            return Ok(known);
        }
        // Imported outside of the lock of `NUMPY`, because an import runs Python code.
        let numpy = py.import(intern!(py, "numpy"))?;
        let array = numpy.getattr(intern!(py, "ndarray"))?;
        let from_dlpack = numpy.getattr(intern!(py, "from_dlpack"))?.unbind();
        let c_api = CApi::load(&numpy, &array)?;
        Ok(NUMPY.get_or_init(py, || Self { array: array.unbind(), from_dlpack, c_api }))
    }

    /// NumPy, if [`get`](Self::get) imported it before.
    #[inline]
    pub(in crate::python) fn loaded(py: Python<'_>) -> Option<&Self> {
        NUMPY.get(py)
    }

    /// Whether a class is that of NumPy's arrays, and not a subclass of it.
    ///
    /// # Errors
    ///
    /// As for [`get`](Self::get).
    pub(in crate::python) fn is_array_class(class: &Bound<'_, PyType>) -> PyResult<bool> {
        let numpy = match Self::loaded(class.py()) {
            // A class of NumPy exists, so NumPy can be imported.
            None if is_in_numpy(class)? => Self::get(class.py())?,
            None => return Ok(false),
            Some(numpy) => numpy,
        };
        Ok(class.is(&numpy.array))
    }

    /// Whether a function is `numpy.from_dlpack`.
    pub(in crate::python) fn has_importer(function: &Bound<'_, PyAny>) -> bool {
        Self::loaded(function.py()).is_some_and(|numpy| function.is(&numpy.from_dlpack))
    }

    /// `numpy.from_dlpack`.
    pub(in crate::python) fn importer<'py>(&self, py: Python<'py>) -> &Bound<'py, PyAny> {
        self.from_dlpack.bind(py)
    }

    /// The C API, if this crate supports its version.
    #[inline]
    pub(super) fn c_api(&self) -> Option<&CApi> {
        self.c_api.as_ref()
    }
}

/// Whether the module of a class is NumPy. A `__module__` that is not a string, or that raises an
/// exception, is another module.
fn is_in_numpy(class: &Bound<'_, PyType>) -> PyResult<bool> {
    Ok(ok_unless_exit(class.py(), class.module())?.is_some_and(|module| module == "numpy"))
}
