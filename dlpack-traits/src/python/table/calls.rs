//! Calls the functions of a [`ForeignTable`](crate::exchange::foreign_table::ForeignTable), and
//! interprets their results and exceptions.
//!
//! Rejects objects whose elements are not the values in their memory: [`check_lazy_bits`]. PyTorch
//! evaluates `x.conj()` and `x.conj().imag` lazily: the result shares the memory of `x` and has a
//! bit, after which each element is the conjugate, or the negative, of what is in memory. Its
//! exchange table drops both bits, and its `__dlpack__` the negative bit.
//!
//! Layout and dtype do not tell whether a bit is set: a slice of such a view can be contiguous, and
//! `torch._neg_view` takes integers. PyTorch's `is_neg`, which releases the GIL, takes 100 to 200 ns,
//! as long as an import. It is called for objects of types that have `is_neg` and `resolve_neg`
//! (`lookup::has_lazy_bits`).

use alloc::format;
use core::ffi::{c_int, c_void};
use core::ptr;

use pyo3::exceptions::{PyBufferError, PyException, PyRuntimeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyString};

use crate::device::Device;
use crate::dtype::DataType;
use crate::exchange::foreign_table::{ExportFunction, Outcome, StreamFunction, ViewFunction};
use crate::ffi::{self, DLDataType, DLDataTypeCode, DLDevice, DLDeviceType, DLTensor};
use crate::import::{ImportPolicy, ImportedTensor};
use crate::python::convert::{discard, ok_or_discard, ok_unless};
use crate::python::interpreter::drop_attached::adopt;
use crate::python::interpreter::pending_exception::is_pending;
use crate::python::table::lookup::OfObject;

/// Exports an object through the exchange table of its type.
///
/// # Errors
///
/// What the function raised; `BufferError` if it failed without an exception, and for a
/// tensor that [`ImportedTensor::from_raw`] rejects.
#[inline(always)]
pub(in crate::python) fn export(
    function: OfObject<'_, '_, ExportFunction>,
) -> PyResult<ImportedTensor> {
    let object = function.object();
    let py = object.py();
    let mut managed = ptr::null_mut();
    // SAFETY: the function is from the table of the object's type. The object is alive, and
    // the result may be written.
    let status = unsafe { function.get().get()(object.as_ptr().cast(), &raw mut managed) };
    match outcome(py, status, !managed.is_null()) {
        // SAFETY: 1. The function made the tensor as the standard says, and this function
        // owns it.
        Outcome::Done => unsafe { adopt(managed, ImportPolicy::new()) },
        Outcome::RaisedWithResult => {
            let error = PyErr::fetch(py);
            // SAFETY: as above.
            ok_or_discard(py, unsafe { adopt(managed, ImportPolicy::new()) });
            Err(error)
        }
        failure => Err(failed(py, failure, "managed_tensor_from_py_object_no_sync")),
    }
}

/// Returns the `DLTensor` of an object through the exchange table of its type. Its pointers
/// are valid as long as the standard says.
///
/// # Errors
///
/// As for [`export`], except those of the tensor.
pub(in crate::python) fn view(function: OfObject<'_, '_, ViewFunction>) -> PyResult<DLTensor> {
    let object = function.object();
    let py = object.py();
    // Fields that the function does not write stay zero.
    let mut tensor = DLTensor {
        data: ptr::null_mut(),
        device: DLDevice { device_type: DLDeviceType(0), device_id: 0 },
        ndim: 0,
        dtype: DLDataType { code: DLDataTypeCode(0), bits: 0, lanes: 0 },
        shape: ptr::null_mut(),
        strides: ptr::null_mut(),
        byte_offset: 0,
    };
    // SAFETY: the function is from the table of the object's type. The object is alive, and
    // the result may be written.
    let status = unsafe { function.get().get()(object.as_ptr().cast(), &raw mut tensor) };
    match outcome(py, status, true) {
        Outcome::Done => Ok(tensor),
        failure => Err(failed(py, failure, "dltensor_from_py_object_no_sync")),
    }
}

/// Whether `__dlpack__` is called after this error of a table: a `BufferError`, and an error
/// that [`lists_frames`].
#[cold]
pub(in crate::python) fn is_refusal(py: Python<'_>, error: &PyErr) -> bool {
    error.is_instance_of::<PyBufferError>(py) || lists_frames(py, error)
}

/// Returns what a function of a table made; `None` if `__dlpack__` is called instead.
///
/// # Errors
///
/// Those that are not a refusal ([`is_refusal`]).
pub(in crate::python) fn unless_refused<T>(
    py: Python<'_>,
    made: PyResult<T>,
) -> PyResult<Option<T>> {
    ok_unless(py, made, |error| !is_refusal(py, error))
}

/// Whether the text of an error lists the C++ frames that raised it. PyTorch's table converts
/// every C++ exception to such a `RuntimeError`; its `__dlpack__` raises one line.
#[cold]
pub(in crate::python) fn lists_frames(py: Python<'_>, error: &PyErr) -> bool {
    // Without a call of `str`, which raises interrupts.
    let argument = || error.value(py).getattr(intern!(py, "args"))?.get_item(0);
    error.get_type(py).is(py.get_type::<PyRuntimeError>())
        && ok_or_discard(py, argument()).is_some_and(|text| {
            let text = text.cast::<PyString>();
            text.is_ok_and(|text| text.to_string_lossy().contains("\nException raised from "))
        })
}

/// Returns the stream on which the library currently launches work for a device.
///
/// # Errors
///
/// As for [`view`].
pub(in crate::python) fn stream(
    py: Python<'_>,
    function: StreamFunction,
    device: Device,
) -> PyResult<*mut c_void> {
    let mut stream = ptr::null_mut();
    // SAFETY: the function is from a table, and the result may be written.
    let status =
        unsafe { function.get()(device.device_type(), device.device_id(), &raw mut stream) };
    match outcome(py, status, true) {
        Outcome::Done => Ok(stream),
        failure => Err(failed(py, failure, "current_work_stream")),
    }
}

/// Classifies the result of a call before which no exception was set.
#[inline]
pub(super) fn outcome(py: Python<'_>, status: c_int, made: bool) -> Outcome {
    Outcome::of(status, made, is_pending(py))
}

/// Makes the exception of a call without a result.
#[cold]
pub(super) fn failed(py: Python<'_>, outcome: Outcome, function: &str) -> PyErr {
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

/// Checks that no such bit is set for an object of a type that may have them. `dtype` is that of
/// its tensor, if it is known.
///
/// # Errors
///
/// `BufferError` for an object with such a bit.
#[inline(never)]
pub(in crate::python) fn check_lazy_bits(
    object: &Bound<'_, PyAny>,
    dtype: Option<DataType>,
) -> PyResult<()> {
    let py = object.py();
    // PyTorch has no negative bit for `bool`.
    if dtype.is_some_and(|dtype| dtype.code() == ffi::kDLBool) {
        return Ok(());
    }
    let is_negated = is_set(object, intern!(py, "is_neg"))?;
    let is_conjugated =
        dtype.is_none_or(DataType::is_complex) && is_set(object, intern!(py, "is_conj"))?;
    if is_negated || is_conjugated {
        return Err(unresolved(is_negated, is_conjugated));
    }
    Ok(())
}

#[inline]
fn is_set(object: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> PyResult<bool> {
    let py = object.py();
    match object.call_method0(name) {
        Err(error) if error.is_instance_of::<PyException>(py) => is_set_below(object, name, error),
        set => Ok(set?.is(PyBool::new(py, true))),
    }
}

/// Calls a method of PyTorch's tensors without the code of a subclass: a method of its own, and
/// `__torch_function__`, by which it may raise for every function but `__dlpack__`, as
/// `ReadOnlyTensorWrapper` does.
///
/// # Errors
///
/// `TypeError` for an object that is not a tensor of PyTorch, and what the method raises.
#[cold]
pub(in crate::python) fn call_below<'py>(
    object: &Bound<'py, PyAny>,
    name: &Bound<'py, PyString>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    let Torch { base, call } = if let Some(torch) = TORCH.get(py) {
        torch
    } else {
        // Found outside of the lock of the cell, because an import may run Python code.
        let torch = py.import(intern!(py, "torch._C"))?;
        let base = torch.getattr(intern!(py, "TensorBase"))?.unbind();
        let call = torch.getattr(intern!(py, "_disabled_torch_function_impl"))?.unbind();
        TORCH.get_or_init(py, || Torch { base, call })
    };
    call.bind(py).call1((base.bind(py).getattr(name)?, (), (object,)))
}

/// The class of PyTorch's tensors, and what calls a method of it. An import of PyTorch takes longer than
/// one of a tensor.
struct Torch {
    base: Py<PyAny>,
    call: Py<PyAny>,
}

static TORCH: PyOnceLock<Torch> = PyOnceLock::new();

#[cold]
fn is_set_below(
    object: &Bound<'_, PyAny>,
    name: &Bound<'_, PyString>,
    error: PyErr,
) -> PyResult<bool> {
    let py = object.py();
    match ok_or_discard(py, call_below(object, name)) {
        Some(set) => {
            discard(py, error);
            Ok(set.is(PyBool::new(py, true)))
        }
        None => Err(error),
    }
}

#[cold]
fn unresolved(is_negated: bool, is_conjugated: bool) -> PyErr {
    let (bits, cure) = match (is_negated, is_conjugated) {
        (true, false) => ("negative bit", ".resolve_neg()"),
        (false, _) => ("conjugate bit", ".resolve_conj()"),
        (true, true) => ("negative and the conjugate bit", ".resolve_conj().resolve_neg()"),
    };
    PyBufferError::new_err(format!(
        "expected a tensor whose elements are in its memory, got one with the {bits}, which DLPack \
         cannot express; pass `x{cure}`, a copy (PyTorch)"
    ))
}
