//! The arguments of `__dlpack__` as plain data: [`request`], [`Keywords`]; the calls that nearly all
//! consumers make are recognized by the addresses of their arguments: [`common_capsule`].
//!
//! A consumer passes the same constants each time: one tuple of keyword names, and one
//! version. This module holds references to the objects that it recognizes, so no other
//! object has their addresses, and tuples of strings or integers are immutable. Comparing
//! addresses is therefore enough.
//!
//! A caller that makes a new tuple for each call, as PyTorch does, has its names compared
//! one by one by address, because they are interned. Return values stay in a register (an
//! object, or NULL with the exception set): a `PyResult` would be returned through memory.
//! Together with owners of a statically known type, a call takes two thirds of the
//! instructions that it took before.

use alloc::format;
use alloc::string::ToString as _;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};
use std::sync::OnceLock;

use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi::PyObject;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyNone, PyTuple};
use pyo3::{Borrowed, intern};

use crate::backend::{StreamHandle, StreamRules};
use crate::python::convert::{
    Bounded, copy, device, expected, integer, ok_unless_exit, pair, text,
};
use crate::python::export::export_plan::{Capsule, Refusal, Request};
use crate::python::export::method_def::Arguments;
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
        self.slot_by_text(&text(name)?)
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
    remember_version(value, version);
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

/// The last `max_version` object that selected the versioned capsule.
static VERSION: Last = Last::none();

/// Cached keyword tuples: those that were passed twice in a row. Programs have few of
/// them, so the first eight stay.
static NAMES: [OnceLock<Names>; 8] = [const { OnceLock::new() }; 8];

/// The last keyword tuple that is not cached. It is kept alive, so a caller that makes a
/// new tuple for each call never gets the same address again.
static SEEN: Last = Last::none();

/// A reference to an object, or none. Other threads that load its address only compare it.
struct Last(AtomicPtr<PyObject>);

impl Last {
    const fn none() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    /// Whether it is a reference to this object.
    #[inline(always)]
    fn is(&self, object: &Bound<'_, PyAny>) -> bool {
        // Acquire: an object whose address is stored here is alive.
        ptr::eq(object.as_ptr(), self.0.load(Ordering::Acquire))
    }

    /// Stores another reference to this object, and drops the one before.
    fn set(&self, object: &Bound<'_, PyAny>) {
        let old = self.0.swap(object.clone().into_ptr(), Ordering::AcqRel);
        // SAFETY: this thread is attached; `old` is NULL or a reference that this function
        // stored.
        drop(unsafe { Bound::from_owned_ptr_or_opt(object.py(), old) });
    }
}

/// A tuple of names, all of which are keywords of `__dlpack__`.
#[derive(Clone, Copy)]
struct Names {
    /// The address of the tuple.
    address: usize,
    count: isize,
    /// The index of `max_version`.
    max_version: Option<isize>,
}

/// Returns the capsule for a call that passes the same version as the last call, or no
/// version, and only `None` for the other keywords: nearly every call. Returns `None` for
/// all other calls, which take the slow path. Measured: `x.__dlpack__(max_version=(1, 0))` takes
/// 54 ns, and 136 with `copy=False`, which takes the slow path.
#[inline(always)]
pub(in crate::python) fn common_capsule(
    py: Python<'_>,
    arguments: Arguments<'_>,
) -> Option<Capsule> {
    if arguments.positional() != 0 {
        return None;
    }
    let Some(names) = arguments.names(py) else { return Some(Capsule::Legacy) };
    let address = names.as_ptr().addr();
    let known = NAMES.iter().map_while(OnceLock::get).find(|known| known.address == address);
    let names = match known {
        Some(known) => *known,
        None => read(&names)?,
    };
    let none = PyNone::get(py);
    let mut capsule = Capsule::Legacy;
    for index in 0..names.count {
        // SAFETY: 1. There is a value for each name, and no positional one.
        let value = unsafe { arguments.value(py, index) };
        if value.is(none) {
            continue;
        }
        if names.max_version != Some(index) || !VERSION.is(&value) {
            return None;
        }
        capsule = Capsule::Versioned;
    }
    Some(capsule)
}

/// Finds `max_version` among names, if each of them is a keyword.
#[inline(never)]
fn read(names: &Bound<'_, PyAny>) -> Option<Names> {
    let py = names.py();
    let mut max_version = None;
    let tuple = names.extract::<Bound<'_, PyTuple>>().ok()?;
    for (name, index) in tuple.iter().zip(0..) {
        // Python interns the keywords of calls in source code, so nearly every name is
        // identical to one of these objects.
        if name.is(intern!(py, "max_version")) {
            max_version = Some(index);
        } else if !(name.is(intern!(py, "copy"))
            || name.is(intern!(py, "dl_device"))
            || name.is(intern!(py, "stream")))
        {
            return None;
        }
    }
    let count = isize::try_from(tuple.len()).ok()?;
    let read = Names { address: names.as_ptr().addr(), count, max_version };
    remember(names, read);
    Some(read)
}

/// Caches names for [`common_capsule`], the second time that they are passed.
fn remember(names: &Bound<'_, PyAny>, read: Names) {
    // `SEEN` keeps it alive, so no other object has its address.
    if SEEN.is(names) {
        if NAMES.iter().any(|place| place.set(read).is_ok()) {
            // The list owns this reference.
            let _ = names.clone().into_ptr();
        }
        return;
    }
    SEEN.set(names);
}

/// Caches a version for [`common_capsule`], if it is a tuple of two integers and selects the
/// versioned capsule.
fn remember_version(value: &Bound<'_, PyAny>, version: Version) {
    if Capsule::up_to(Some(version)) != Capsule::Versioned || !is_pair_of_ints(value) {
        return;
    }
    VERSION.set(value);
}

/// Whether a value is a tuple of integers, none of them of a subclass.
fn is_pair_of_ints(value: &Bound<'_, PyAny>) -> bool {
    value.is_exact_instance_of::<PyTuple>()
        && value.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>().is_ok_and(|(first, second)| {
            first.is_exact_instance_of::<PyInt>() && second.is_exact_instance_of::<PyInt>()
        })
}
