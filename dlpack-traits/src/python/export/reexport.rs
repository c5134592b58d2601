//! Makes a Python object that exports imported memory again: [`offer`].

use alloc::format;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyDict, PyTuple};

use crate::backend::{Backends, Cpu};
use crate::export::share_managed;
use crate::import::ImportedStorage;
use crate::python::convert::{self, Keywords};
use crate::python::export::protocol::Copy;
use crate::python::export::to_capsule::in_capsule;

/// Makes an object with the two methods of the protocol, for a `from_dlpack` that does
/// not accept capsules.
pub(in crate::python) fn offer(
    py: Python<'_>,
    tensor: ImportedStorage,
) -> PyResult<Bound<'_, PyAny>> {
    let device = tensor.imported().device();
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
    tensor: &ImportedStorage,
    named: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let items = named.map(|named| named.iter().collect::<alloc::vec::Vec<_>>()).unwrap_or_default();
    let mut keywords = Keywords::default();
    for (name, value) in &items {
        keywords.set(name.as_borrowed(), value.as_borrowed())?;
    }
    let (request, stream) = convert::request(&keywords)?;
    let plan = request.decide(|| Ok::<_, PyErr>(tensor.imported().device()), Cpu::serves)?;
    let kind = plan.capsule;
    let shared = match plan.copy {
        Copy::Always => None,
        _ => Some(share_managed(tensor, stream).and_then(|tensor| in_capsule(py, tensor, kind))),
    };
    let capsule = match shared {
        Some(Ok(capsule)) => capsule,
        shared => {
            if let Some(Err(error)) = shared {
                plan.may_copy_instead(tensor, error)?;
            }
            in_capsule(py, plan.copied::<Cpu>(tensor, stream)?, kind)?
        }
    };
    // SAFETY: `capsule` is a new reference, or NULL with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(py, capsule) }
}
