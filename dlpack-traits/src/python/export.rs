//! Carrying out what was decided about the keywords of `__dlpack__`.

use core::ptr;

use pyo3::ffi::PyObject;
use pyo3::marker::Ungil;
use pyo3::prelude::*;

use super::capsule;
use super::detached::detached;
use super::object::{Object, share};
use super::owner::PyOwner;
use super::protocol::{Capsule, Copy, Plan};
use super::value::Value;
use crate::backend::{Backends, copy_on_device_managed, copy_to_host_managed};
use crate::device::Device;
use crate::error::Error;
use crate::export::{DLPackExport, copy_managed, into_managed};
use crate::managed::{ManagedTensor, Outgoing};
use crate::stream::StreamArg;

/// A capsule with the tensor of an object, which stays usable; NULL with an exception set
/// if Python has no memory for one.
pub(super) fn export<B: Backends>(
    py: Python<'_>,
    object: Object,
    plan: Plan,
    stream: StreamArg<'_>,
) -> PyResult<*mut PyObject> {
    let value = object.value();
    if plan.copy == Copy::Always {
        return copied::<B>(py, value, plan, stream);
    }
    if plan.capsule == Capsule::Legacy && value.is_frozen() {
        // It will not do, so its owners need not be counted for it.
        return copy_instead::<B>(py, value, plan, stream, Error::ReadOnlyLegacy);
    }
    // The host may have to wait for a device.
    let shared = waiting(py, B::HAS_STREAMS, || share(value, stream));
    let alone = matches!(shared, Err(Error::NotShareable));
    let shared = if alone && plan.capsule == Capsule::Legacy && is_read_only(value) {
        Err(Error::ReadOnlyLegacy)
    } else if alone {
        // The object itself is the only owner that there is.
        return Ok(in_capsule(py, into_managed(PyOwner::new(object), stream)?, plan.capsule)?);
    } else {
        shared.and_then(|tensor| in_capsule(py, tensor, plan.capsule))
    };
    match shared {
        Ok(capsule) => Ok(capsule),
        Err(error) => copy_instead::<B>(py, value, plan, stream, error),
    }
}

/// Exports a copy of what cannot be exported for that error.
///
/// # Errors
///
/// That error, where a copy would not help, or may not be made; and those of the copy.
pub(super) fn copy_instead<B: Backends>(
    py: Python<'_>,
    value: &dyn Value,
    plan: Plan,
    stream: StreamArg<'_>,
    error: Error,
) -> PyResult<*mut PyObject> {
    plan.may_copy_instead(value, error)?;
    copied::<B>(py, value, plan, stream)
}

/// Exports a copy, which other threads of Python do not wait for.
fn copied<B: Backends>(
    py: Python<'_>,
    value: &dyn Value,
    plan: Plan,
    stream: StreamArg<'_>,
) -> PyResult<*mut PyObject> {
    let long = B::HAS_STREAMS || is_large(value);
    let tensor = waiting(py, long, || plan.copied::<B>(value, stream))?;
    Ok(in_capsule(py, tensor, plan.capsule)?)
}

/// [`encapsulate`], with the reason as an error.
pub(super) fn in_capsule(
    py: Python<'_>,
    tensor: impl Into<Outgoing>,
    kind: Capsule,
) -> Result<*mut PyObject, Error> {
    let mut refused = None;
    let capsule = encapsulate(py, tensor.into(), kind, &mut refused);
    refused.map_or(Ok(capsule), Err)
}

/// Puts a tensor into a capsule that a consumer understands. NULL with the reason in
/// `refused` where [`Outgoing::into_legacy`] has one, and with an exception set if Python
/// has no memory for a capsule; the tensor is released.
#[inline(always)]
pub(super) fn encapsulate(
    _: Python<'_>,
    tensor: Outgoing,
    kind: Capsule,
    refused: &mut Option<Error>,
) -> *mut PyObject {
    match kind {
        // SAFETY: 1. The token says that this thread is attached.
        Capsule::Versioned => unsafe { capsule::new(tensor) },
        Capsule::Legacy => match tensor.into_legacy(refused) {
            // SAFETY: as above.
            Some(tensor) => unsafe { capsule::new(tensor) },
            None => ptr::null_mut(),
        },
    }
}

/// Runs something that takes long, if it `does`, without the interpreter.
fn waiting<R: Ungil>(py: Python<'_>, does: bool, run: impl FnOnce() -> R + Ungil) -> R {
    if does { detached(py, run) } else { run() }
}

impl Plan {
    /// Whether a copy will do for what cannot be shared.
    ///
    /// # Errors
    ///
    /// That of the tensor that could not be shared. What is no tensor at all says that.
    pub(super) fn may_copy_instead(
        self,
        tensor: &(impl DLPackExport + ?Sized),
        error: Error,
    ) -> Result<(), Error> {
        match error {
            // The struct has no flag for it, but a copy need not say it.
            Error::ReadOnlyLegacy => match tensor.tensor()?.device() {
                Device::CPU if self.copy != Copy::Never => Ok(()),
                _ => Err(error),
            },
            error => Err(error),
        }
    }

    /// Exports a copy, on the device that was asked for.
    pub(super) fn copied<B: Backends>(
        self,
        tensor: &(impl DLPackExport + ?Sized),
        stream: StreamArg<'_>,
    ) -> PyResult<ManagedTensor> {
        let device = tensor.tensor()?.device();
        let served = B::serves(device);
        if served && device != Device::CPU && !self.onto_cpu {
            return Ok(copy_on_device_managed::<B, _>(tensor, stream)?);
        }
        self.may_copy(device)?;
        if device.is_host() || !served {
            return Ok(copy_managed(tensor, stream)?);
        }
        // The consumer is on the host, and so is its stream.
        stream.host()?;
        Ok(copy_to_host_managed::<B, _>(tensor)?)
    }
}

/// Whether consumers would have to be told not to write.
fn is_read_only(tensor: &(impl DLPackExport + ?Sized)) -> bool {
    tensor.tensor().is_ok_and(|view| view.is_read_only())
}

/// Whether a copy of a tensor takes long enough for other threads to care.
fn is_large(tensor: &(impl DLPackExport + ?Sized)) -> bool {
    /// Elements, whatever their size: some tens of microseconds.
    const MANY: i64 = 1 << 16;
    tensor.tensor().is_ok_and(|view| view.numel() >= MANY)
}
