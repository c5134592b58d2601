//! Calls the functions of a [`ForeignTable`](crate::exchange::foreign_table::ForeignTable), and interprets their results and
//! exceptions.

use alloc::format;
use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr::{self, NonNull};

use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;

use crate::device::Device;
use crate::exchange::foreign_table::{Export, Outcome, Stream, View, Wrap};
use crate::exchange::relay::Relay;
use crate::ffi::{DLManagedTensorVersioned, DLTensor};
use crate::import::{ImportPolicy, ImportedTensor};
use crate::python::adopt::adopt;
use crate::python::convert::quietly;
use crate::python::interpreter::pending_exception::is_pending;

/// Exports an object through the exchange table of its type.
///
/// # Errors
///
/// What the function raised; `BufferError` if it failed without an exception, and for a
/// tensor that [`ImportedTensor::from_raw`] rejects.
///
/// # Safety
///
/// 1. The function is from the table of the object's type.
/// 2. The tensor that it makes meets the obligations of [`ImportedTensor::from_raw`].
#[inline(always)]
pub(in crate::python) unsafe fn export(
    object: &Bound<'_, PyAny>,
    function: Export,
) -> PyResult<ImportedTensor> {
    let py = object.py();
    let mut managed = ptr::null_mut();
    // SAFETY: 1. The object is alive, and the result may be written.
    let status = unsafe { function(object.as_ptr().cast(), &raw mut managed) };
    match outcome(py, status, !managed.is_null()) {
        // SAFETY: 1. By 2 the tensor is valid, and this function owns the result.
        Outcome::Done => unsafe { adopt(py, managed, ImportPolicy::new()) },
        Outcome::RaisedWithResult => {
            let error = PyErr::fetch(py);
            // SAFETY: as above.
            quietly(py, unsafe { adopt(py, managed, ImportPolicy::new()) });
            Err(error)
        }
        failure => Err(failed(py, failure, "managed_tensor_from_py_object_no_sync")),
    }
}

/// Returns the `DLTensor` of an object through the exchange table of its type.
///
/// # Errors
///
/// As for [`export`], except those of the tensor.
///
/// # Safety
///
/// 1. The function is from the table of the object's type.
pub(in crate::python) unsafe fn view(
    object: &Bound<'_, PyAny>,
    function: View,
) -> PyResult<DLTensor> {
    let py = object.py();
    // Zero is valid for all fields; fields that the function does not write stay zero.
    let mut tensor = MaybeUninit::<DLTensor>::zeroed();
    // SAFETY: 1. The object is alive, and the result may be written.
    let status = unsafe { function(object.as_ptr().cast(), tensor.as_mut_ptr()) };
    match outcome(py, status, true) {
        // SAFETY: the tensor was zeroed, which initialises all of its fields.
        Outcome::Done => Ok(unsafe { tensor.assume_init() }),
        Outcome::RaisedWithResult => Err(PyErr::fetch(py)),
        failure => Err(failed(py, failure, "dltensor_from_py_object_no_sync")),
    }
}

/// Returns the stream on which the library currently launches work for a device.
///
/// # Errors
///
/// As for [`view`].
///
/// # Safety
///
/// 1. The function is from a table.
pub(in crate::python) unsafe fn stream(
    py: Python<'_>,
    function: Stream,
    device: Device,
) -> PyResult<*mut c_void> {
    let mut stream = ptr::null_mut();
    // SAFETY: 1. The result may be written.
    let status = unsafe { function(device.device_type(), device.device_id(), &raw mut stream) };
    match outcome(py, status, true) {
        Outcome::Done => Ok(stream),
        Outcome::RaisedWithResult => Err(PyErr::fetch(py)),
        failure => Err(failed(py, failure, "current_work_stream")),
    }
}

/// Creates an object from a tensor. On failure the tensor is released.
///
/// # Errors
///
/// As for [`view`].
///
/// # Safety
///
/// 1. The function is from a table.
/// 2. `tensor` points to a valid struct of major version 1 that is the caller's to give
///    away.
pub(in crate::python) unsafe fn wrap(
    py: Python<'_>,
    function: Wrap,
    tensor: NonNull<DLManagedTensorVersioned>,
) -> PyResult<Bound<'_, PyAny>> {
    // The outer error means that the function failed, and may not have taken the tensor;
    // the inner error, that an object owns the tensor.
    let call = |tensor| -> PyResult<PyResult<_>> {
        let mut object = ptr::null_mut();
        // SAFETY: 1. The callee takes ownership of the tensor, and the result may be
        // written.
        let status = unsafe { function(tensor, &raw mut object) };
        match outcome(py, status, !object.is_null()) {
            // SAFETY: this thread is attached, and this function owns the reference.
            Outcome::Done => Ok(Ok(unsafe { Bound::from_owned_ptr(py, object.cast()) })),
            Outcome::RaisedWithResult => {
                let error = PyErr::fetch(py);
                // SAFETY: as above.
                drop(unsafe { Bound::from_owned_ptr(py, object.cast()) });
                Ok(Err(error))
            }
            failure => Err(failed(py, failure, "managed_tensor_to_py_object_no_sync")),
        }
    };
    // SAFETY: 1 (the struct is valid, its deleter may be called once): guaranteed by our
    // caller's 2. 2. The library that made the table is trusted to call a deleter once.
    unsafe { Relay::send(tensor, call) }?
}

/// Classifies the result of a call before which no exception was set.
#[inline]
fn outcome(py: Python<'_>, status: c_int, made: bool) -> Outcome {
    Outcome::of(status, made, is_pending(py))
}

/// Makes the exception of a call without a result.
#[cold]
fn failed(py: Python<'_>, outcome: Outcome, function: &str) -> PyErr {
    match outcome {
        Outcome::Done | Outcome::Raised | Outcome::RaisedWithResult => PyErr::fetch(py),
        Outcome::FailedSilently => PyBufferError::new_err(format!(
            "`{function}` of the object's exchange table failed and raised nothing"
        )),
        Outcome::NothingMade => PyBufferError::new_err(format!(
            "`{function}` of the object's exchange table made nothing and raised nothing"
        )),
    }
}
