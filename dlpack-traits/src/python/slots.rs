//! Calls of the functions of a [`Peer`](super::peer::Peer), and what their
//! results and exceptions mean.

use alloc::format;
use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr::{self, NonNull};

use pyo3::exceptions::PyBufferError;
use pyo3::ffi as py_ffi;
use pyo3::prelude::*;

use super::convert::quietly;
use super::peer::{Export, Outcome, Stream, View, Wrap};
use super::relay::Relay;
use super::take::adopt;
use crate::device::Device;
use crate::ffi::{DLManagedTensorVersioned, DLTensor};
use crate::import::{ImportPolicy, Imported};

/// Exports an object through its type's table.
///
/// # Errors
///
/// What the function raised; `BufferError` where it failed without a word, and
/// for a tensor that [`Imported::from_raw`] refuses.
///
/// # Safety
///
/// 1. The function is from the table of the object's type.
/// 2. What it makes is as [`Imported::from_raw`] wants it.
#[inline(always)]
pub(super) unsafe fn export(object: &Bound<'_, PyAny>, function: Export) -> PyResult<Imported> {
    let py = object.py();
    let mut managed = ptr::null_mut();
    // SAFETY: 1. The object is alive, and the result may be written.
    let status = unsafe { function(object.as_ptr().cast(), &raw mut managed) };
    match outcome(py, status, !managed.is_null()) {
        // SAFETY: 2, and the result is ours.
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

/// Describes the tensor of an object through its type's table.
///
/// # Errors
///
/// As for [`export`], but for those of the tensor.
///
/// # Safety
///
/// 1. The function is from the table of the object's type.
pub(super) unsafe fn view(object: &Bound<'_, PyAny>, function: View) -> PyResult<DLTensor> {
    let py = object.py();
    // All of its fields may be 0, and what a function does not write stays that.
    let mut tensor = MaybeUninit::<DLTensor>::zeroed();
    // SAFETY: 1. The object is alive, and the result may be written.
    let status = unsafe { function(object.as_ptr().cast(), tensor.as_mut_ptr()) };
    match outcome(py, status, true) {
        // SAFETY: it was initialised, and it is plain data.
        Outcome::Done => Ok(unsafe { tensor.assume_init() }),
        Outcome::RaisedWithResult => Err(PyErr::fetch(py)),
        failure => Err(failed(py, failure, "dltensor_from_py_object_no_sync")),
    }
}

/// Asks for the stream on which work for a device is launched now.
///
/// # Errors
///
/// As for [`view`].
///
/// # Safety
///
/// 1. The function is from a table.
pub(super) unsafe fn stream(
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

/// Makes an object of a tensor, which is released if that fails.
///
/// # Errors
///
/// As for [`view`].
///
/// # Safety
///
/// 1. The function is from a table.
/// 2. `tensor` points to a valid struct of major version 1 that is the caller's
///    to give away.
pub(super) unsafe fn wrap(
    py: Python<'_>,
    function: Wrap,
    tensor: NonNull<DLManagedTensorVersioned>,
) -> PyResult<Bound<'_, PyAny>> {
    // An error outside says that the tensor was not taken, as far as one can
    // tell; one inside, that an object has it.
    let call = |tensor| -> PyResult<PyResult<_>> {
        let mut object = ptr::null_mut();
        // SAFETY: 1. The tensor is given away, and the result may be written.
        let status = unsafe { function(tensor, &raw mut object) };
        match outcome(py, status, !object.is_null()) {
            // SAFETY: this thread is attached, and the reference is ours.
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
    // SAFETY: 1. is 2. of this function. 2. The library that made the table is
    // trusted to call a deleter once.
    unsafe { Relay::send(tensor, call) }?
}

/// Judges a call that was made with no exception set.
#[inline]
fn outcome(_: Python<'_>, status: c_int, made: bool) -> Outcome {
    // SAFETY: this thread is attached.
    let raised = !unsafe { py_ffi::PyErr_Occurred() }.is_null();
    Outcome::of(status, made, raised)
}

/// The exception of a call without a result.
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
