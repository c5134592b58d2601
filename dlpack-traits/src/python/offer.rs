//! Imported memory as a Python object that exports it once more: [`offer`].

use alloc::format;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyDict, PyTuple};

use super::capsule;
use super::convert::{self, Keywords};
use super::export::Instead;
use super::protocol::{Capsule, Plan};
use crate::backend::{Backends, Cpu};
use crate::error::Error;
use crate::ffi::{DLManagedTensor, DLManagedTensorVersioned};
use crate::import::Foreign;
use crate::managed::Abi;
use crate::stream::StreamArg;

/// An object with the two methods of the protocol, for a `from_dlpack` that
/// takes objects only.
pub(super) fn offer(py: Python<'_>, tensor: Foreign) -> PyResult<Bound<'_, PyAny>> {
    let device = tensor.tensor().device();
    let device = (device.device_type().0, device.device_id());
    let dlpack = move |positional: &Bound<'_, PyTuple>, named: Option<&Bound<'_, PyDict>>| {
        if !positional.is_empty() {
            return Err(PyTypeError::new_err(format!(
                "__dlpack__() takes no positional arguments ({} given)",
                positional.len()
            )));
        }
        export(positional.py(), &tensor, named).map(Bound::unbind)
    };
    let dlpack_device = move |_: &Bound<'_, PyTuple>, _: Option<&Bound<'_, PyDict>>| device;
    let object = py.import("types")?.getattr("SimpleNamespace")?.call0()?;
    let dlpack = PyCFunction::new_closure(py, Some(c"__dlpack__"), None, dlpack)?;
    object.setattr("__dlpack__", dlpack)?;
    let dlpack_device =
        PyCFunction::new_closure(py, Some(c"__dlpack_device__"), None, dlpack_device)?;
    object.setattr("__dlpack_device__", dlpack_device)?;
    Ok(object)
}

fn export<'py>(
    py: Python<'py>,
    tensor: &Foreign,
    named: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let items = named.map(|named| named.iter().collect::<alloc::vec::Vec<_>>()).unwrap_or_default();
    let mut keywords = Keywords::default();
    for (name, value) in &items {
        keywords.set(name.as_borrowed(), value.as_borrowed())?;
    }
    let (request, stream) = convert::request(&keywords)?;
    let plan = request.decide(|| Ok::<_, PyErr>(tensor.tensor().device()), Cpu::serves)?;
    match plan.capsule {
        Capsule::Versioned => in_capsule::<DLManagedTensorVersioned>(py, plan, tensor, stream),
        Capsule::Legacy => in_capsule::<DLManagedTensor>(py, plan, tensor, stream),
    }
}

fn in_capsule<'py, A: Abi>(
    py: Python<'py>,
    plan: Plan,
    tensor: &Foreign,
    stream: StreamArg<'_>,
) -> PyResult<Bound<'py, PyAny>> {
    let managed = match plan.share::<A>(tensor, stream) {
        Ok(tensor) => tensor,
        Err(Instead::Copy) => plan.copied::<A, Cpu>(tensor, stream)?,
        Err(Instead::Alone) => return Err(Error::NotShareable.into()),
        Err(Instead::Refused(error)) => return Err(error.into()),
    };
    // SAFETY: 1. This thread is attached.
    let capsule = unsafe { capsule::new(managed) };
    // SAFETY: it is a new reference, or NULL with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(py, capsule) }
}
