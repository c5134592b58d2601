//! Imports the tensor of a Python object, with the errors of the object as they are: [`import_object`].

use alloc::format;

use pyo3::exceptions::{PyAttributeError, PyBufferError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::device::Device;
use crate::ffi;
use crate::import::{ImportError, ImportedTensor};
use crate::python::capsule;
use crate::python::convert::{caused_by, discard, exchange_error, ok_or_discard, ok_unless_exit};
use crate::python::import::call_dlpack::{call_and_import, device_of};
use crate::python::import::import_options::ImportOptions;
use crate::python::import::missing_values::{check_mask, exporter_of};
use crate::python::interpreter::drop_attached::{drain, watch};
use crate::python::interpreter::{LONG_COPY, detached_if};
use crate::python::numpy::{self, NumPy};
use crate::python::table::calls;
use crate::python::table::lookup::has_lazy_bits;

/// As [`from_dlpack_with`](super::from_dlpack::from_dlpack_with), with the errors of the object as they
/// are.
#[inline(always)]
pub(in crate::python) fn import_object(
    object: &Bound<'_, PyAny>,
    options: &ImportOptions<'_>,
) -> PyResult<ImportedTensor> {
    drain(object.py());
    if options.wants_own_copy() {
        return own_copy(object, options);
    }
    import(object, options)
}

/// The tensor of an object, to be kept. PyTorch gives another memory to a tensor by `module.half()`, and
/// then frees that of an import; another tensor over the memory, `x.detach()`, keeps it.
///
/// # Errors
///
/// Exits.
#[inline]
pub(in crate::python) fn kept(
    object: &Bound<'_, PyAny>,
    tensor: ImportedTensor,
) -> PyResult<ImportedTensor> {
    Ok(other_owner(object, &tensor)?.unwrap_or(tensor))
}

/// The tensor of `x.detach()`, if `x` is one of PyTorch, or passes on one. Another thread may have given `x`
/// another memory since `tensor` was imported, whose memory is then freed.
///
/// # Errors
///
/// Exits.
#[inline]
pub(in crate::python) fn other_owner(
    object: &Bound<'_, PyAny>,
    tensor: &ImportedTensor,
) -> PyResult<Option<ImportedTensor>> {
    // Work of a device is ordered by the import.
    if !tensor.device().is_host() || !has_lazy_bits(object)? {
        return Ok(None);
    }
    detached(object, tensor)
}

#[cold]
fn detached(
    object: &Bound<'_, PyAny>,
    tensor: &ImportedTensor,
) -> PyResult<Option<ImportedTensor>> {
    let (py, mut before) = (object.py(), None);
    let mut other = || {
        let options = ImportOptions::new();
        let has_table = options.export_of(object)?.is_some();
        let exporter = if has_table { Some(object.clone()) } else { exporter_of(object)? };
        let Some(exporter) = exporter else { return Ok(None) };
        // Neither has lazy bits.
        let import = |object: &Bound<'_, PyAny>| match options.export_of(object)? {
            Some(export) => calls::export(export),
            None => import_object(object, &options),
        };
        for _ in 0..MOST_CHANGES {
            let other = import(&calls::call_below(&exporter, intern!(py, "detach"))?)?;
            let now = import(object)?;
            if is_same(&now, &other) {
                return Ok(Some(other));
            }
            if is_same(&now, before.as_ref().unwrap_or(tensor)) {
                break;
            }
            before = Some(now);
        }
        // A class with a table, a `__dlpack__` or a `__torch_dispatch__` of its own.
        Ok(None)
    };
    Ok(ok_unless_exit(py, other())?.flatten())
}

/// How often another thread may change a tensor between two imports of it. A class may export a copy each
/// time.
const MOST_CHANGES: usize = 4;

/// Whether two imports are of the same elements, and allow the same.
fn is_same(tensor: &ImportedTensor, other: &ImportedTensor) -> bool {
    other.data_ptr() == tensor.data_ptr()
        && other.byte_offset() == tensor.byte_offset()
        && other.shape() == tensor.shape()
        && other.strides() == tensor.strides()
        && (other.dtype(), other.flags()) == (tensor.dtype(), tensor.flags())
}

/// Imports the tensor of an object. If the options request a copy, the producer makes it.
#[inline]
fn import(object: &Bound<'_, PyAny>, options: &ImportOptions<'_>) -> PyResult<ImportedTensor> {
    let tensor = import_any(object, options)?;
    // Arrays of NumPy and tensors of tables are imported without a policy.
    options.policy.check_nbytes(tensor.nbytes()).map_err(ImportError::from)?;
    Ok(if options.names_stream() { tensor.on_named_stream() } else { tensor })
}

/// As [`import`], of any size.
fn import_any(object: &Bound<'_, PyAny>, options: &ImportOptions<'_>) -> PyResult<ImportedTensor> {
    if options.fits_a_table() {
        if let Some(export) = options.export_of(object)? {
            let tensor = match calls::export(export) {
                Ok(tensor) if options.are_met_by(&tensor) => tensor,
                by_table => without_table(object, options, by_table)?,
            };
            if export.has_lazy_bits() {
                calls::check_lazy_bits(object, Some(tensor.dtype()))?;
            }
            return Ok(tensor);
        }
        if let Some(tensor) = numpy::tensor_of(object) {
            return Ok(tensor);
        }
    }
    if object.is_exact_instance_of::<PyCapsule>() {
        return out_of_capsule(object, options);
    }
    let passed_on;
    // The lookup of the type loads NumPy if it is a class of arrays.
    let exporter = if has_lazy_bits(object)? {
        passed_on = exporter_of(object)?;
        passed_on.as_ref()
    } else {
        passed_on = None;
        Some(object)
    };
    if let Some(exporter) = exporter {
        if NumPy::is_of_subclass(exporter)? {
            check_mask(object)?;
        }
    }
    let tensor = call_and_import(object, options)?;
    if let Some(exporter) = passed_on {
        if has_lazy_bits(&exporter)? {
            calls::check_lazy_bits(&exporter, Some(tensor.dtype()))?;
        }
    }
    if options.device.is_none() && tensor.device() == Device::CPU {
        return Ok(tensor);
    }
    check_device(object, tensor, options)
}

/// Imports the tensor without a copy, and copies it here if it is on the CPU: a producer
/// may keep other references to a copy that it makes. On other devices the producer makes
/// the copy.
#[cold]
fn own_copy(object: &Bound<'_, PyAny>, options: &ImportOptions<'_>) -> PyResult<ImportedTensor> {
    let mut without_copy = *options;
    without_copy.copy = None;
    let tensor = import(object, &without_copy)?;
    if tensor.device().device_type() == ffi::kDLCPU {
        let is_long = tensor.numel() >= LONG_COPY;
        return detached_if(object.py(), is_long, || tensor.to_own_copy()).map_err(exchange_error);
    }
    drop(tensor);
    if object.is_exact_instance_of::<PyCapsule>() {
        return Err(PyValueError::new_err(
            "a capsule of a tensor on a device cannot be asked for a copy; pass the object that \
             it came from",
        ));
    }
    let tensor = call_and_import(object, options)?;
    let tensor = if options.names_stream() { tensor.on_named_stream() } else { tensor };
    check_device(object, tensor, options)
}

/// Calls `__dlpack__` of an object whose table did not return a usable tensor. Passes on
/// an exception that the table raised, unless it is a refusal ([`calls::is_refusal`]).
#[cold]
fn without_table(
    object: &Bound<'_, PyAny>,
    options: &ImportOptions<'_>,
    by_table: PyResult<ImportedTensor>,
) -> PyResult<ImportedTensor> {
    let py = object.py();
    // The tensor of the table is released only after `__dlpack__` has returned.
    let (unusable, refused) = match by_table {
        Err(error) if !calls::is_refusal(py, &error) => return Err(error),
        Err(error) => (None, Some(error)),
        Ok(tensor) => (Some(tensor), None),
    };
    match call_and_import(object, options) {
        Ok(tensor) => {
            ok_or_discard(py, refused.map_or(Ok(()), Err));
            drop(unusable);
            check_device(object, tensor, options)
        }
        // A type with a table need not have `__dlpack__`.
        Err(error) => match refused {
            Some(refused) if calls::lists_frames(py, &refused) => {
                let has_none = error.is_instance_of::<PyAttributeError>(py);
                let (raised, other) = if has_none { (refused, error) } else { (error, refused) };
                discard(py, other);
                Err(raised)
            }
            Some(refused) => Err(caused_by(py, error, refused)),
            None => Err(error),
        },
    }
}

/// Imports the tensor of a capsule that was passed instead of an object.
#[cold]
fn out_of_capsule(
    capsule: &Bound<'_, PyAny>,
    options: &ImportOptions<'_>,
) -> PyResult<ImportedTensor> {
    watch(capsule.py());
    let tensor = capsule::take(capsule, options.policy)?;
    check_device(capsule, tensor, options)
}

/// Checks that the tensor is on the requested device. Without a requested device, checks
/// that it is on the CPU or on the device that `__dlpack_device__` of its object returns.
#[cold]
fn check_device(
    object: &Bound<'_, PyAny>,
    tensor: ImportedTensor,
    options: &ImportOptions<'_>,
) -> PyResult<ImportedTensor> {
    let found = match tensor.device() {
        // JAX numbers its devices on one CPU in the struct, and not in `__dlpack_device__`.
        device if device.device_type() == ffi::kDLCPU => Device::CPU,
        device => device,
    };
    let message = match options.device {
        Some(requested) if requested != found && requested != tensor.device() => {
            format!("requested a tensor on {requested}, got one on {found}")
        }
        Some(_) => return Ok(tensor),
        None if found == Device::CPU || object.is_exact_instance_of::<PyCapsule>() => {
            return Ok(tensor);
        }
        None => match device_of(object)? {
            returned if returned == found => return Ok(tensor),
            returned => {
                format!("`__dlpack_device__` returned {returned}, but the tensor is on {found}")
            }
        },
    };
    Err(PyBufferError::new_err(message))
}
