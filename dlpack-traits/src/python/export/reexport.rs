//! Python objects that export imported memory again: [`offer`].
//!
//! A `from_dlpack` takes an object with the two methods of the protocol, not a capsule. The
//! class of the object is created once. With a new namespace object and two closures for
//! each tensor, a function that returns an array took 3 microseconds more.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::backend::Cpu;
use crate::describe::{Describe, Description};
use crate::error::Error;
use crate::export::DLPackExport;
use crate::import::ImportedStorage;
use crate::python::export::class_methods::ClassMethods;
use crate::storage::Storage;

/// An imported tensor as a Python object.
#[pyclass(frozen, module = "dlpack_traits", name = "Tensor")]
struct Reexport {
    tensor: ImportedStorage,
}

impl DLPackExport for Reexport {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        self.tensor.describe(out)
    }

    fn storage(&self) -> Option<&dyn Storage> {
        Some(&self.tensor)
    }
}

/// Makes an object with the two methods of the protocol, for a `from_dlpack` that does
/// not accept capsules.
pub(in crate::python) fn offer(
    py: Python<'_>,
    tensor: ImportedStorage,
) -> PyResult<Bound<'_, PyAny>> {
    if METHODS.get(py).is_none() {
        // Outside of the lock of `METHODS`, because Python code may run meanwhile.
        ClassMethods::of::<Reexport, Cpu>().install(&py.get_type::<Reexport>())?;
        METHODS.get_or_init(py, || ());
    }
    Bound::new(py, Reexport { tensor }).map(Bound::into_any)
}

/// Whether the class has its methods.
static METHODS: PyOnceLock<()> = PyOnceLock::new();
