//! Imports the tensor of a Python object for kernels on a device: [`import_on`].

use alloc::string::ToString as _;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::backend::{
    ArrayStream, Backend, Backends as _, DeviceTensor, FreeOrder, StreamHandle, SyncAction,
    WorkStream, is_read_by_host, not_served,
};
use crate::device::Device;
use crate::error::Error;
use crate::exchange::foreign_table::StreamFunction;
use crate::python::capsule::pointer_named;
use crate::python::convert::{exchange_error, unless_missing};
use crate::python::import::call_dlpack::device_of;
use crate::python::import::import_object::import_object;
use crate::python::import::import_options::ImportOptions;
use crate::python::interpreter::drop_attached::drain;
use crate::python::interpreter::free_detached;
use crate::python::table::calls;
use crate::python::table::lookup::{OfObject, table_of};
use crate::stream_arg::StreamKind;

/// Imports the tensor of an object for work on the current stream of its library.
///
/// | the stream is | if |
/// |---|---|
/// | that of `current_work_stream` | the type of the object has an exchange table |
/// | the object's own ([`Backend::ARRAY_STREAM`]) | it names one, as arrays of SYCL do by `sycl_queue` |
/// | the backend's current stream | otherwise; `__dlpack__` receives it |
///
/// # Errors
///
/// What the object raises; `ValueError` for memory of a device that the backend does not
/// serve; `TypeError` for a capsule, which was exported for an unknown stream; and those of
/// the runtime.
pub(in crate::python) fn import_on<B: Backend>(
    object: &Bound<'_, PyAny>,
) -> PyResult<DeviceTensor<B>> {
    // The release may wait for the device.
    free_detached();
    drain(object.py());
    let table = table_of(object)?;
    let stream = table.and_then(|table| table.get().stream);
    if let (Some(export), Some(stream)) = (table.and_then(OfObject::export), stream) {
        if let Some(tensor) = calls::unless_refused(object.py(), calls::export(export))? {
            if export.has_lazy_bits() {
                calls::check_lazy_bits(object, Some(tensor.dtype()))?;
            }
            let device = served::<B>(tensor.device())?;
            if let Some(stream) = current_of::<B>(object.py(), stream, device)? {
                // SAFETY: 1. The standard: such a tensor is ready on that stream. 2. The
                // library frees in the order of its current stream, except for memory
                // that the processor reads.
                return unsafe { DeviceTensor::new(tensor, stream, freed::<B>(device, true)) }
                    .map_err(exchange_error);
            }
        }
    }
    by_methods(object, stream)
}

/// Calls `__dlpack__` with the stream.
#[cold]
fn by_methods<B: Backend>(
    object: &Bound<'_, PyAny>,
    table: Option<StreamFunction>,
) -> PyResult<DeviceTensor<B>> {
    if object.is_exact_instance_of::<PyCapsule>() {
        return Err(PyTypeError::new_err(
            "expected an object with `__dlpack__`, got a capsule, which does not state the \
             stream that it was exported for; pass the object that it was made of",
        ));
    }
    let device = served::<B>(device_of(object)?)?;
    if let Some(stream) = queue_of::<B>(object, device)? {
        let tensor = import_object(object, &ImportOptions::new())?;
        // SAFETY: 1. The memory is ready for work on the queue of the object.
        return unsafe { DeviceTensor::new(tensor, stream, FreeOrder::Immediate) }
            .map_err(exchange_error);
    }
    let stream = stream_of::<B>(object.py(), table, device)?;
    let tensor = import_object(object, &ImportOptions::new().stream(stream.as_arg()))?;
    let nameless = B::RULES.decide(device, stream.handle(), StreamKind::Unspecified);
    let freed = freed::<B>(device, !matches!(nameless, Ok(SyncAction::Wait)));
    // SAFETY: 1. The producer has ordered its work before the stream. 2. On a device with a
    // default stream, the standard lets a consumer release a tensor before its work is done.
    unsafe { DeviceTensor::new(tensor, stream, freed) }.map_err(exchange_error)
}

/// When a producer may reuse released memory. A host allocator takes no part in the order of
/// streams.
fn freed<B: Backend>(device: Device, in_order: bool) -> FreeOrder {
    if in_order && !is_read_by_host::<B>(device) {
        FreeOrder::StreamOrdered
    } else {
        FreeOrder::Immediate
    }
}

/// Checks that the backend serves the device.
fn served<B: Backend>(device: Device) -> PyResult<Device> {
    if B::serves(device) {
        return Ok(device);
    }
    Err(PyValueError::new_err(not_served::<B>(device).to_string()))
}

/// The current stream of the library that has the table function, or that of the backend if there
/// is no function, or it names no stream.
pub(super) fn stream_of<B: Backend>(
    py: Python<'_>,
    function: Option<StreamFunction>,
    device: Device,
) -> PyResult<WorkStream<B>> {
    let device = served::<B>(device)?;
    let named = match function {
        Some(function) => current_of(py, function, device)?,
        None => None,
    };
    named.map_or_else(|| B::current_stream(device).map_err(exchange_error), Ok)
}

/// The current stream of the library that made the table; `None` if its handle does not name
/// one stream: NULL where the device has no default stream, or CUDA's per-thread stream.
fn current_of<B: Backend>(
    py: Python<'_>,
    function: StreamFunction,
    device: Device,
) -> PyResult<Option<WorkStream<B>>> {
    let handle = StreamHandle::from_ptr(calls::stream(py, function, device)?);
    let Some(number) = B::RULES.number_of(handle) else {
        return Ok(Some(B::current_stream(device).map_err(exchange_error)?));
    };
    match B::RULES.decide(device, handle, StreamKind::Handle(number)) {
        Ok(SyncAction::Same) => {
            // SAFETY: 1. The library is trusted that it names a stream of the device, which
            // exists as long as the memory of tensors that are exchanged for it.
            let stream = unsafe { B::keep_stream(device, handle) };
            stream.map(Some).map_err(exchange_error)
        }
        Ok(_) | Err(Error::StreamRefused { .. }) => Ok(None),
        Err(error) => Err(exchange_error(error)),
    }
}

/// The stream that an array names ([`Backend::ARRAY_STREAM`]).
fn queue_of<B: Backend>(
    object: &Bound<'_, PyAny>,
    device: Device,
) -> PyResult<Option<WorkStream<B>>> {
    let py = object.py();
    let Some(ArrayStream { names: (attribute, method, name) }) = B::ARRAY_STREAM else {
        return Ok(None);
    };
    let queue = unless_missing(py, object.getattr(attribute))?;
    let Some(queue) = queue else { return Ok(None) };
    let capsule = unless_missing(py, queue.call_method0(method))?;
    let Some(capsule) = capsule else { return Ok(None) };
    let Some(handle) = pointer_named(&capsule, name) else { return Ok(None) };
    // SAFETY: 1. By 10 of `Backend`, the pointer in a capsule of this name is such a handle, and the
    // capsule keeps the stream alive.
    let stream = unsafe { B::keep_stream(device, StreamHandle::from_ptr(handle.as_ptr())) };
    stream.map(Some).map_err(exchange_error)
}
