//! Takes over the deleter of a tensor whose producer may run Python code: [`adopt`].

use pyo3::prelude::*;

use crate::error::Error;
use crate::import::{ImportPolicy, ImportedTensor};
use crate::managed::Abi;
use crate::python::convert::{discard, exchange_error};
use crate::python::interpreter::drop_attached::release;

/// Imports a tensor whose producer is in Python.
///
/// # Errors
///
/// Those of [`ImportedTensor::from_raw`].
///
/// # Safety
///
/// 1. As for [`ImportedTensor::from_raw`].
#[inline(always)]
pub(in crate::python) unsafe fn adopt<A: Abi>(
    managed: *mut A,
    policy: ImportPolicy,
) -> PyResult<ImportedTensor> {
    // SAFETY: 1 (`managed` is valid): guaranteed by our caller's 1.
    let taken = unsafe { ImportedTensor::guarded(managed, policy, Some(release)) };
    taken.map_err(invalid)
}

/// The name of the attribute of an exception for a tensor without memory.
const WITHOUT_MEMORY: &str = "dlpack_without_memory";

/// Makes the exception for an invalid tensor.
#[cold]
fn invalid(error: Error) -> PyErr {
    let raised = exchange_error(error);
    if matches!(error, Error::NullData) {
        Python::attach(|py| {
            if let Err(error) = raised.value(py).setattr(WITHOUT_MEMORY, true) {
                discard(py, error);
            }
        });
    }
    raised
}

/// Whether an exception is about a tensor that has elements and no memory: freed memory of PyTorch,
/// for example, of which `numpy.asarray` makes an array of arbitrary values.
pub(in crate::python) fn is_without_memory(py: Python<'_>, error: &PyErr) -> PyResult<bool> {
    Ok(error.value(py).getattr_opt(WITHOUT_MEMORY)?.is_some())
}
