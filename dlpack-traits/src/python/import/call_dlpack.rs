//! Calls `__dlpack__` of an object and imports the result: [`call_and_import`].

use core::ptr;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyCapsule, PyDict, PyTuple};
use pyo3::{IntoPyObjectExt, intern};

use crate::device::Device;
use crate::import::ImportedTensor;
use crate::python::capsule::take;
use crate::python::convert::{
    self, discard, error_text, exchange_error, expected, is_exit, ok_unless_exit,
};
use crate::python::import::import_options::ImportOptions;
use crate::python::import::retry::{RaisedError, Requested, is_mismatch, should_retry};
use crate::python::interpreter::symbols::{Symbols, VectorcallMethod};
use crate::stream_arg::StreamKind;
use crate::version::Version;

/// Calls `__dlpack__` of an object, and imports the tensor of the capsule.
///
/// # Errors
///
/// What the object raises, and those of [`take`].
#[inline(always)]
pub(in crate::python) fn call_and_import(
    object: &Bound<'_, PyAny>,
    options: &ImportOptions<'_>,
) -> PyResult<ImportedTensor> {
    let capsule = call_with_fallback(object, options)?;
    if !capsule.is_exact_instance_of::<PyCapsule>() {
        return Err(expected("`__dlpack__` must return a capsule", &capsule));
    }
    take(&capsule, options.policy)
}

/// Calls `__dlpack__` with `max_version` and the requested options, and, after a
/// `TypeError`, without the keywords that older producers do not accept.
fn call_with_fallback<'py>(
    object: &Bound<'py, PyAny>,
    options: &ImportOptions<'_>,
) -> PyResult<Bound<'py, PyAny>> {
    let requested = Requested { device: options.device.is_some(), copy: options.copy.is_some() };
    let stream = stream_of(object, options)?;
    let first = if requested == Requested::default() && stream.is_none() {
        call_with_version(object)
    } else {
        let keywords = keywords(object.py(), options, stream.as_ref())?;
        object.call_method(intern!(object.py(), "__dlpack__"), (), Some(&keywords))
    };
    let error = match first {
        Ok(capsule) => return Ok(capsule),
        Err(error) => error,
    };
    let py = object.py();
    // Not one of a subclass, such as Arrow's, which is about the elements.
    let is_type_error = error.get_type(py).is(py.get_type::<PyTypeError>());
    let requested =
        Requested { device: is_type_error && is_elsewhere(object, options.device)?, ..requested };
    if !should_retry(requested, is_type_error) {
        return Err(error);
    }
    // The second call still passes the stream, by which the producer synchronizes.
    let keywords = PyDict::new(py);
    if let Some(stream) = stream {
        keywords.set_item(intern!(py, "stream"), stream)?;
    }
    match object.call_method(intern!(py, "__dlpack__"), (), Some(&keywords)) {
        Ok(capsule) => {
            discard(py, error);
            Ok(capsule)
        }
        Err(last) => {
            let inside = error.traceback(py).is_some();
            let message = error_text(py, &error)?;
            let mismatch = is_mismatch(inside, || message);
            match RaisedError::of(mismatch, is_exit(py, &last)) {
                RaisedError::First => {
                    discard(py, last);
                    Err(error)
                }
                RaisedError::Second => Err(convert::caused_by(py, last, error)),
            }
        }
    }
}

/// Whether a tensor has to be moved to the requested device.
#[cold]
fn is_elsewhere(object: &Bound<'_, PyAny>, requested: Option<Device>) -> PyResult<bool> {
    match requested {
        Some(device) => Ok(ok_unless_exit(object.py(), device_of(object))? != Some(device)),
        None => Ok(false),
    }
}

/// Makes the keywords of the first call.
fn keywords<'py>(
    py: Python<'py>,
    options: &ImportOptions<'_>,
    stream: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let keywords = PyDict::new(py);
    keywords.set_item(intern!(py, "max_version"), max_version())?;
    if let Some(device) = options.device {
        let device = (device.device_type().0, device.device_id());
        keywords.set_item(intern!(py, "dl_device"), device)?;
    }
    if let Some(copy) = options.copy {
        keywords.set_item(intern!(py, "copy"), copy)?;
    }
    if let Some(stream) = stream {
        keywords.set_item(intern!(py, "stream"), stream)?;
    }
    Ok(keywords)
}

const fn max_version() -> (u32, u32) {
    (Version::CURRENT.major, Version::CURRENT.minor)
}

/// Returns the `stream` keyword for the producer; `None` for a tensor on the CPU, which
/// has no streams.
fn stream_of<'py>(
    object: &Bound<'py, PyAny>,
    options: &ImportOptions<'_>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = object.py();
    let stream = match (options.stream_object, options.stream.kind()) {
        (Some(stream), _) => stream.as_unbound().clone_ref(py).into_bound(py),
        // These kinds do not name a stream, so none is passed to the producer.
        (None, StreamKind::Unspecified | StreamKind::WorkStream | StreamKind::OnHost) => {
            return Ok(None);
        }
        (None, StreamKind::NoSync) => (-1).into_bound_py_any(py)?,
        // The protocol uses signed integers: addresses in the upper half are rejected.
        (None, StreamKind::Handle(handle)) => isize::try_from(handle)
            .map_err(|_| PyValueError::new_err("`stream` is not the address of a stream"))?
            .into_bound_py_any(py)?,
    };
    let device = match options.device {
        Some(device) => device,
        None => device_of(object)?,
    };
    if device == Device::CPU {
        return Ok(None);
    }
    options.stream.check_device(device).map_err(exchange_error)?;
    Ok(Some(stream))
}

/// Returns the device that `__dlpack_device__` returns.
pub(in crate::python) fn device_of(object: &Bound<'_, PyAny>) -> PyResult<Device> {
    let py = object.py();
    let device = object.call_method0(intern!(py, "__dlpack_device__"))?;
    convert::device(&device, "__dlpack_device__()")
}

/// Calls `object.__dlpack__(max_version=...)`, the call of nearly every import.
#[inline]
fn call_with_version<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    let Some(vectorcall_method) = Symbols::get().vectorcall_method else {
        let keywords = PyDict::new(py);
        keywords.set_item(intern!(py, "max_version"), max_version())?;
        return object.call_method(intern!(py, "__dlpack__"), (), Some(&keywords));
    };
    let keyword = match KEYWORD.get(py) {
        Some(keyword) => keyword,
        None => Keyword::cached(py)?,
    };
    vectorcall(object, vectorcall_method, keyword)
}

/// Calls `object.__dlpack__` with one keyword.
#[inline]
fn vectorcall<'py>(
    object: &Bound<'py, PyAny>,
    vectorcall_method: VectorcallMethod,
    keyword: &Keyword,
) -> PyResult<Bound<'py, PyAny>> {
    /// `PY_VECTORCALL_ARGUMENTS_OFFSET`: the callee may write to the slot before the
    /// arguments.
    const OFFSET: usize = 1 << (usize::BITS - 1);
    let py = object.py();
    let name = intern!(py, "__dlpack__");
    let mut arguments = [ptr::null_mut(), object.as_ptr(), keyword.value.as_ptr()];
    let names = keyword.names.as_ptr();
    let first = arguments.as_mut_ptr().wrapping_add(1);
    // SAFETY: this thread is attached. The one positional argument is the object itself,
    // the value of the one keyword follows, and there is a slot before them.
    let result = unsafe { vectorcall_method(name.as_ptr(), first, 1 | OFFSET, names) };
    // SAFETY: the result is a new reference, or NULL with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(py, result) }
}

/// The keyword `max_version` for a call by [`vectorcall`].
struct Keyword {
    value: Py<PyAny>,
    /// The tuple of its name.
    names: Py<PyTuple>,
}

/// Made once, as interned strings are: PyO3 allows a module in one interpreter only.
static KEYWORD: PyOnceLock<Keyword> = PyOnceLock::new();

impl Keyword {
    /// Makes the keyword, if no other thread has made it.
    #[cold]
    fn cached(py: Python<'_>) -> PyResult<&Self> {
        // Made outside of the lock of the cell, because an allocation may run Python code.
        let value = max_version().into_py_any(py)?;
        let names = PyTuple::new(py, [intern!(py, "max_version")])?.unbind();
        Ok(KEYWORD.get_or_init(py, || Self { value, names }))
    }
}
