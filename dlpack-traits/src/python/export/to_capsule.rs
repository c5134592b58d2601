//! Exports a tensor according to the plan that was derived from the keywords of
//! `__dlpack__`.
//!
//! An export of a class whose backends have streams (`Backends::HAS_STREAMS`) runs detached
//! from the interpreter, because it may wait for a device whose work needs the GIL. Classes
//! on the CPU do not pay for that.

use pyo3::ffi::PyObject;
use pyo3::prelude::*;

use crate::backend::{Backends, copy_to_device, copy_to_host};
use crate::device::Device;
use crate::error::Error;
use crate::export::{DLPackExport, export_copy, export_owned};
use crate::managed::{ManagedTensor, RawManaged};
use crate::python::capsule;
use crate::python::convert::exchange_error;
use crate::python::export::export_class::{DynExport, ErasedRef, PyOwner};
use crate::python::export::export_plan::{Capsule, CopyMode, Plan, Refusal};
use crate::python::interpreter::{LONG_COPY, detached_if};
use crate::stream_arg::StreamArg;

/// Exports the tensor of an object, which stays usable, in a capsule. Returns NULL with
/// an exception set if Python cannot allocate the capsule.
pub(in crate::python) fn export<B: Backends>(
    py: Python<'_>,
    object: ErasedRef,
    plan: Plan,
    stream: StreamArg<'_>,
) -> PyResult<*mut PyObject> {
    let value = object.value();
    if plan.copy == CopyMode::Always {
        return copied::<B>(py, value, plan, stream);
    }
    if plan.capsule == Capsule::Legacy && value.is_frozen() {
        // A legacy capsule cannot be read-only, so no reference is counted for one.
        return copy_instead::<B>(py, value, plan, stream, Error::ReadOnlyLegacy);
    }
    let is_read_only = || value.tensor().is_ok_and(|view| view.is_read_only());
    // The host may have to wait for a device.
    let shared = match detached_if(py, B::HAS_STREAMS, || value.export_shared(stream)) {
        Ok(Some(tensor)) => encapsulate(py, tensor, plan.capsule),
        Ok(None) if plan.capsule == Capsule::Legacy && is_read_only() => Err(Error::ReadOnlyLegacy),
        Ok(None) => {
            // The Python object becomes the owner.
            let owned = export_owned(PyOwner::new(object), stream);
            let capsule = owned.and_then(|tensor| encapsulate(py, tensor, plan.capsule));
            return capsule.map_err(exchange_error);
        }
        Err(error) => Err(*error),
    };
    match shared {
        Ok(capsule) => Ok(capsule),
        Err(error) => copy_instead::<B>(py, value, plan, stream, error),
    }
}

/// Exports a copy of a tensor whose export failed with `error`, if a copy avoids the
/// error: the legacy struct has no READ_ONLY flag, and a copy does not need it.
///
/// # Errors
///
/// `error`, if a copy would not help or is forbidden; those of the copy; if the value does not
/// describe a tensor, the error of its description.
pub(in crate::python) fn copy_instead<B: Backends>(
    py: Python<'_>,
    value: &dyn DynExport,
    plan: Plan,
    stream: StreamArg<'_>,
    error: Error,
) -> PyResult<*mut PyObject> {
    let helps = matches!(error, Error::ReadOnlyLegacy)
        && value.device().map_err(exchange_error)? == Device::CPU
        && plan.copy != CopyMode::Never;
    if !helps {
        return Err(exchange_error(error));
    }
    copied::<B>(py, value, plan, stream)
}

/// Exports a copy. For a long copy, the thread detaches from the interpreter.
fn copied<B: Backends>(
    py: Python<'_>,
    value: &dyn DynExport,
    plan: Plan,
    stream: StreamArg<'_>,
) -> PyResult<*mut PyObject> {
    let is_large = || value.tensor().is_ok_and(|view| view.numel() >= LONG_COPY);
    let is_long = B::HAS_STREAMS || is_large();
    let tensor = detached_if(py, is_long, || copy::<B>(value, plan, stream))?;
    encapsulate(py, tensor, plan.capsule).map_err(exchange_error)
}

/// Copies a tensor, to the requested device.
fn copy<B: Backends>(
    value: &dyn DynExport,
    plan: Plan,
    stream: StreamArg<'_>,
) -> PyResult<ManagedTensor> {
    let device = value.device().map_err(exchange_error)?;
    let served = B::serves(device);
    let to = plan.to.unwrap_or(device);
    if served && to != Device::CPU {
        let copy = copy_to_device::<B, _>(value, to, stream);
        return copy.map_err(|error| match error {
            Error::NoBackend { .. } => Refusal::Device { requested: to, own: device }.into(),
            error => exchange_error(error),
        });
    }
    plan.may_copy(device)?;
    if device.is_host() || !served {
        return export_copy(value, stream).map_err(exchange_error);
    }
    // The consumer is on the host, so its stream must be one of the host.
    stream.host().map_err(exchange_error)?;
    copy_to_host::<B, _>(value).map_err(exchange_error)
}

/// Puts a tensor into a capsule of the given kind. Returns NULL with an exception set if
/// Python cannot allocate the capsule. On failure the tensor is released.
///
/// # Errors
///
/// Those of [`RawManaged::into_legacy`].
#[inline(always)]
pub(in crate::python) fn encapsulate(
    py: Python<'_>,
    tensor: impl Into<RawManaged>,
    kind: Capsule,
) -> Result<*mut PyObject, Error> {
    Ok(match kind {
        Capsule::Versioned => capsule::new(py, tensor.into()),
        Capsule::Legacy => capsule::new(py, tensor.into().into_legacy()?),
    })
}
