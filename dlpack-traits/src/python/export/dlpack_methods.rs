//! Implements the methods of all classes: [`dlpack`], [`dlpack_device`].
//!
//! The C functions of each class only call these, so that their code is compiled once.

use alloc::format;
use core::ptr;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::{Borrowed, ffi as py_ffi};

use crate::backend::Backends;
use crate::device::Device;
use crate::error::Error;
use crate::exchange::TableError;
use crate::panic::catch_panic;
use crate::python::convert::{self, attached_object, exchange_error};
use crate::python::export::arguments::Arguments;
use crate::python::export::common_calls;
use crate::python::export::erased_ref::ClassVTable;
use crate::python::export::export_plan::{Capsule, Plan};
use crate::python::export::request::{Keywords, request};
use crate::python::export::to_capsule::{copy_instead, encapsulate, export};
use crate::stream_arg::StreamArg;

/// `__dlpack__`.
///
/// # Safety
///
/// 1. As for Python's call of a method by the convention `METH_FASTCALL | METH_KEYWORDS`,
///    of an object that may be one of that class.
pub(in crate::python) unsafe extern "C" fn dlpack<B: Backends>(
    object: *mut py_ffi::PyObject,
    arguments: *const *mut py_ffi::PyObject,
    positional: py_ffi::Py_ssize_t,
    names: *mut py_ffi::PyObject,
    class: &'static ClassVTable,
) -> *mut py_ffi::PyObject {
    // SAFETY: 1. and 2. By 1 this thread is attached, and the object is alive.
    let object: Borrowed<'_, 'static, PyAny> = unsafe { attached_object(object) };
    let py = object.py();
    // SAFETY: 1. Guaranteed by our caller's 1.
    let arguments = unsafe { Arguments::new(arguments, positional, names) };
    let method = move || {
        let plain = common_calls::common_capsule(py, arguments);
        let mut failed = None;
        if let (Some(kind), false) = (plain, B::HAS_STREAMS) {
            match (class.export_shared_object)(object, StreamArg::unspecified()) {
                Ok(Some(tensor)) => match encapsulate(py, tensor, kind) {
                    Ok(capsule) => return capsule,
                    Err(error) => failed = Some(error),
                },
                Ok(None) => {}
                Err(fault) => match *fault {
                    TableError::Tensor(error) => failed = Some(error),
                    fault => return raise(py, fault.into()),
                },
            }
        }
        let call = Call { object, arguments, class };
        dlpack_slow::<B>(py, call, plain, failed).unwrap_or_else(|error| raise(py, error))
    };
    // The closure returns a pointer, which stays in a register; a `PyResult` would not.
    catch_panic(method).unwrap_or_else(|| raise(py, convert::panicked()))
}

/// The arguments of a call of `__dlpack__`.
#[derive(Clone, Copy)]
struct Call<'a> {
    object: Borrowed<'a, 'static, PyAny>,
    arguments: Arguments<'a>,
    class: &'static ClassVTable,
}

/// The slow path of `__dlpack__`: for consumers that request more than a capsule of some
/// version, and for objects that the fast path cannot export. `failed` is the error of the fast
/// path, which a copy may avoid.
#[cold]
#[inline(never)]
fn dlpack_slow<B: Backends>(
    py: Python<'static>,
    call: Call<'_>,
    kind: Option<Capsule>,
    failed: Option<Error>,
) -> PyResult<*mut py_ffi::PyObject> {
    let object = (call.class.borrow)(call.object)?;
    let (plan, stream) = if let Some(kind) = kind {
        (Plan::of_common_call(kind), StreamArg::unspecified())
    } else {
        let keywords = keywords(py, call.arguments)?;
        let own = || object.value().device().map_err(exchange_error);
        let (request, stream) = request(&keywords, &|| Ok(B::stream_method(own()?)))?;
        let reaches = |own, to| B::serves(own) && (to == Device::CPU || B::serves(to));
        (request.decide(own, reaches)?, stream)
    };
    match failed {
        None => export::<B>(py, object, plan, stream),
        Some(error) => copy_instead::<B>(py, object.value(), plan, stream, error),
    }
}

/// Raises an exception, and returns NULL, as a method must then.
#[cold]
fn raise(py: Python<'_>, error: PyErr) -> *mut py_ffi::PyObject {
    convert::raise(py, error);
    ptr::null_mut()
}

/// `__dlpack_device__`.
pub(in crate::python) fn dlpack_device(
    object: Borrowed<'_, 'static, PyAny>,
    class: &'static ClassVTable,
) -> PyResult<Bound<'static, PyAny>> {
    let device = (class.borrow)(object)?.value().device().map_err(exchange_error)?;
    let pair = (device.device_type().0, device.device_id()).into_pyobject(object.py())?;
    Ok(pair.into_any())
}

/// Reads the keywords of a call by `METH_FASTCALL | METH_KEYWORDS`.
fn keywords<'a>(py: Python<'static>, arguments: Arguments<'a>) -> PyResult<Keywords<'a, 'static>> {
    let positional = arguments.positional();
    if positional != 0 {
        return Err(PyTypeError::new_err(format!(
            "__dlpack__() takes no positional arguments ({positional} given)"
        )));
    }
    let mut keywords = Keywords::default();
    arguments.for_each_keyword(py, |name, value| keywords.set(name, value))?;
    Ok(keywords)
}
