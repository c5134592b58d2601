//! Python objects with the two methods of the protocol, for a `from_dlpack` that takes an object and
//! not a capsule: [`offer`] exports imported memory again, any number of times; [`offer_once`] gives
//! a tensor of a device away in its first export.
//!
//! The class of an object of [`offer`] is created once. With a new namespace object and two closures
//! for each tensor, a function that returns an array took 3 microseconds more. That class does not
//! fit [`offer_once`], whose tensor is exported by value, need not be `Sync`, and is synchronized
//! with the stream that its consumer passes.

use alloc::format;
use alloc::vec::Vec;
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyCFunction, PyDict, PyTuple};

use crate::backend::{Cpu, StreamRules};
use crate::describe::{Describe, Description};
use crate::device::Device;
use crate::error::Error;
use crate::export::{DLPackExport, export_owned};
use crate::ffi;
use crate::import::ImportedStorage;
use crate::managed::ManagedTensor;
use crate::python::convert::exchange_error;
use crate::python::export::dlpack_methods::ClassMethods;
use crate::python::export::export_plan::CopyMode;
use crate::python::export::request::{Keywords, request};
use crate::python::export::to_capsule::encapsulate;
use crate::python::interpreter::detached_if;
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

/// Another owner of an exported tensor.
pub(in crate::python) fn storage_of(tensor: ManagedTensor) -> PyResult<ImportedStorage> {
    tensor.import().and_then(ImportedStorage::new).map_err(exchange_error)
}

/// Whether the class has its methods.
static METHODS: PyOnceLock<()> = PyOnceLock::new();

/// Makes an object with the two methods of the protocol, for a `from_dlpack` that does not
/// accept capsules. The export synchronizes with the stream that the consumer passes, which
/// an imported tensor could not do.
pub(in crate::python) fn offer_once<E: DLPackExport + Send + 'static>(
    py: Python<'_>,
    tensor: E,
) -> PyResult<Bound<'_, PyAny>> {
    let device = tensor.tensor().map_err(exchange_error)?.device();
    let tensor = Mutex::new(Some(tensor));
    let dlpack = move |positional: &Bound<'_, PyTuple>, named: Option<&Bound<'_, PyDict>>| {
        if !positional.is_empty() {
            return Err(PyTypeError::new_err(format!(
                "__dlpack__() takes no positional arguments ({} given)",
                positional.len()
            )));
        }
        export(positional.py(), &tensor, device, named)
    };
    let kind = (device.device_type().0, device.device_id());
    let dlpack_device = move |_: &Bound<'_, PyTuple>, _: Option<&Bound<'_, PyDict>>| kind;
    let object = py.import("types")?.getattr("SimpleNamespace")?.call0()?;
    let dlpack = PyCFunction::new_closure(py, Some(c"__dlpack__"), None, dlpack)?;
    object.setattr("__dlpack__", dlpack)?;
    let dlpack_device =
        PyCFunction::new_closure(py, Some(c"__dlpack_device__"), None, dlpack_device)?;
    object.setattr("__dlpack_device__", dlpack_device)?;
    Ok(object)
}

/// As [`Backends::stream_method`](crate::backend::Backends::stream_method), where the backend of the memory is not known.
fn stream_method(device: Device) -> Option<(&'static str, StreamRules)> {
    match device.device_type() {
        ffi::kDLOneAPI => Some(("addressof_ref", StreamRules::HANDLES)),
        ffi::kDLCUDA | ffi::kDLCUDAManaged => Some(("__cuda_stream__", StreamRules::CUDA)),
        _ => None,
    }
}

/// Exports the tensor, once.
fn export<E: DLPackExport + Send + 'static>(
    py: Python<'_>,
    tensor: &Mutex<Option<E>>,
    device: Device,
    named: Option<&Bound<'_, PyDict>>,
) -> PyResult<Py<PyAny>> {
    let items = named.map(|named| named.iter().collect::<Vec<_>>()).unwrap_or_default();
    let mut keywords = Keywords::default();
    for (name, value) in &items {
        keywords.set(name, value.as_borrowed())?;
    }
    let (request, stream) = request(&keywords, &|| Ok(stream_method(device)))?;
    let plan = request.decide(|| Ok::<_, PyErr>(device), |_, _| false)?;
    if plan.copy == CopyMode::Always {
        return Err(PyBufferError::new_err("the tensor is exported without a copy only"));
    }
    // No other code runs while the lock is taken.
    let taken = tensor.lock().unwrap_or_else(PoisonError::into_inner).take();
    let tensor = taken.ok_or_else(|| PyBufferError::new_err("the tensor was exported already"))?;
    // The host waits if the consumer passes no stream.
    let managed = detached_if(py, !device.is_host(), || export_owned(tensor, stream))
        .map_err(exchange_error)?;
    let capsule = encapsulate(py, managed, plan.capsule).map_err(exchange_error)?;
    // SAFETY: `capsule` is a new reference, or NULL with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(py, capsule) }.map(Bound::unbind)
}
