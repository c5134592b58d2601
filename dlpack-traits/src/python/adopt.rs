//! Takes over the deleter of a tensor whose producer may run Python code: [`adopt`].

use pyo3::PyResult;

use crate::import::{ImportPolicy, ImportedTensor};
use crate::managed::Abi;
use crate::python::convert::exchange_error;
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
    taken.map_err(exchange_error)
}
