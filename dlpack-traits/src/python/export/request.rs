//! The arguments of `__dlpack__` as plain data: [`request`], [`Keywords`].

use alloc::format;
use alloc::string::ToString as _;

use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::{Borrowed, intern};

use crate::backend::{StreamHandle, StreamRules};
use crate::python::convert::{Bounded, copy, device, expected, integer, ok_unless_exit, pair};
use crate::python::export::common_calls;
use crate::python::export::export_plan::{Refusal, Request};
use crate::stream_arg::StreamArg;
use crate::version::Version;

impl From<Refusal> for PyErr {
    fn from(refusal: Refusal) -> Self {
        PyBufferError::new_err(refusal.to_string())
    }
}

/// Converts the arguments of `__dlpack__` to plain data: the request that decides how to
/// export, and the consumer's stream.
pub(in crate::python) fn request<'a>(
    keywords: &Keywords<'a, '_>,
    method: StreamMethod<'_>,
) -> PyResult<(Request, StreamArg<'a>)> {
    let request = Request {
        max_version: keywords.max_version.as_deref().map(max_version).transpose()?,
        dl_device: keywords
            .dl_device
            .as_deref()
            .map(|value| device(value, "dl_device"))
            .transpose()?,
        copy: keywords.copy.as_deref().map(copy).transpose()?,
    };
    let stream = match keywords.stream {
        Some(value) => stream(value, method)?,
        None => StreamArg::unspecified(),
    };
    Ok((request, stream))
}

/// The keywords of `__dlpack__` that were given and are not `None`.
#[derive(Default)]
pub(in crate::python) struct Keywords<'a, 'py> {
    stream: Option<Borrowed<'a, 'py, PyAny>>,
    max_version: Option<Borrowed<'a, 'py, PyAny>>,
    dl_device: Option<Borrowed<'a, 'py, PyAny>>,
    copy: Option<Borrowed<'a, 'py, PyAny>>,
}

impl<'a, 'py> Keywords<'a, 'py> {
    /// Sets one keyword.
    pub(in crate::python) fn set(
        &mut self,
        name: &Bound<'py, PyAny>,
        value: Borrowed<'a, 'py, PyAny>,
    ) -> PyResult<()> {
        let slot = self.slot(name)?;
        *slot = if value.is_none() { None } else { Some(value) };
        Ok(())
    }

    fn slot(
        &mut self,
        name: &Bound<'py, PyAny>,
    ) -> PyResult<&mut Option<Borrowed<'a, 'py, PyAny>>> {
        // Python interns the keywords of calls in source code, so nearly every name is
        // identical to one of these objects.
        let py = name.py();
        if name.is(intern!(py, "max_version")) {
            return Ok(&mut self.max_version);
        } else if name.is(intern!(py, "copy")) {
            return Ok(&mut self.copy);
        } else if name.is(intern!(py, "dl_device")) {
            return Ok(&mut self.dl_device);
        } else if name.is(intern!(py, "stream")) {
            return Ok(&mut self.stream);
        }
        self.slot_by_text(&name.to_string())
    }

    #[cold]
    fn slot_by_text(&mut self, name: &str) -> PyResult<&mut Option<Borrowed<'a, 'py, PyAny>>> {
        match name {
            "max_version" => Ok(&mut self.max_version),
            "copy" => Ok(&mut self.copy),
            "dl_device" => Ok(&mut self.dl_device),
            "stream" => Ok(&mut self.stream),
            name => Err(PyTypeError::new_err(format!(
                "__dlpack__() got an unexpected keyword argument '{}'",
                Bounded(name)
            ))),
        }
    }
}

fn max_version(value: &Bound<'_, PyAny>) -> PyResult<Version> {
    let (major, minor) = pair(value)?.ok_or_else(|| {
        expected("`max_version` must be a tuple of two integers, such as (1, 0)", value)
    })?;
    // A part that does not fit is larger than any version of this crate; it becomes
    // `u32::MAX`.
    let part = |part: i64| {
        u32::try_from(part).or_else(|_| {
            if part > 0 {
                Ok(u32::MAX)
            } else {
                Err(PyValueError::new_err("`max_version` must not be negative"))
            }
        })
    };
    let version = Version::new(part(major)?, part(minor)?);
    common_calls::remember_version(value, version);
    Ok(version)
}

/// The method of objects that are streams, for the device of the tensor
/// ([`Backends::stream_method`](crate::backend::Backends::stream_method)).
pub(in crate::python) type StreamMethod<'m> =
    &'m dyn Fn() -> PyResult<Option<(&'static str, StreamRules)>>;

/// Returns the number of the stream that an object is, such as a `dpctl.SyclQueue`.
///
/// The object may return any handle, as the caller may pass any integer: the caller of
/// `__dlpack__` is trusted to pass a stream that exists. The capsule of dpctl does not fit
/// here: it owns a copy of the queue, and the export uses the address after the capsule
/// would be freed, while the object that the caller passed keeps its own queue alive.
#[cold]
fn number_of_object(value: &Bound<'_, PyAny>, method: StreamMethod<'_>) -> PyResult<i64> {
    let py = value.py();
    let Some((method, rules)) = method()? else {
        return Err(expected("`stream` must be an integer or None", value));
    };
    let wanted = format!("`stream` must be an integer, None, or an object with `{method}`");
    let stated = ok_unless_exit(py, value.call_method0(method))?;
    let stated = stated.ok_or_else(|| expected(&wanted, value))?;
    let handle = match pair(&stated)? {
        Some((_version, handle)) => Some(handle),
        None => integer(&stated)?,
    };
    let handle = handle.and_then(|handle| usize::try_from(handle).ok());
    let number = handle.and_then(|handle| rules.number_of(StreamHandle::from_number(handle)));
    number.and_then(|number| i64::try_from(number).ok()).ok_or_else(|| expected(&wanted, value))
}

fn stream<'a>(value: Borrowed<'a, '_, PyAny>, method: StreamMethod<'_>) -> PyResult<StreamArg<'a>> {
    let number = match integer(&value)? {
        None => number_of_object(&value, method)?,
        Some(number) => number,
    };
    match usize::try_from(number) {
        // SAFETY: the array API standard requires that the caller passes a sentinel, or a
        // stream of the tensor's device that is alive until `__dlpack__` returns; the
        // argument `value` does not live longer than that.
        Ok(handle) => Ok(unsafe { StreamArg::from_handle(handle) }),
        Err(_) if number == -1 => Ok(StreamArg::no_sync()),
        Err(_) => Err(PyValueError::new_err(format!("`stream` is {number}, below -1"))),
    }
}
