//! The calls of `__dlpack__` that nearly all consumers make, known by the addresses of
//! what they pass: [`plain`].
//!
//! A consumer passes the same constants each time: one tuple of names, and one version.
//! What is known is kept alive here, so no other object has its address meanwhile, and a
//! tuple of strings or integers stays what it is: to compare addresses will do.

use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};
use std::sync::OnceLock;

use pyo3::ffi::{self, PyObject};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyTuple};

use super::protocol::Capsule;
use crate::version::Version;

/// The last version that got the versioned capsule.
static VERSION: AtomicPtr<PyObject> = AtomicPtr::new(ptr::null_mut());

/// Names that were passed twice in a row, by the first callers that did so: programs have
/// few of them.
static NAMES: [OnceLock<Names>; 8] = [const { OnceLock::new() }; 8];

/// The last names that are not among those. A caller that makes a new tuple for each call
/// never finds its own here, as this one is kept alive.
static SEEN: AtomicPtr<PyObject> = AtomicPtr::new(ptr::null_mut());

/// Names of which each is a keyword of `__dlpack__`.
#[derive(Clone, Copy)]
struct Names {
    /// Their tuple.
    address: usize,
    count: isize,
    /// Which of them is `max_version`.
    max_version: Option<isize>,
}

/// The capsule of a call that asks for the version that the last one asked for, or
/// for none, and says nothing else but `None`: nearly every call. `None` for all
/// others, which are looked at closely.
///
/// # Safety
///
/// 1. `values` and `names` are as [`for_each_keyword`](super::method::for_each_keyword)
///    wants them.
#[inline(always)]
pub(super) unsafe fn plain(
    py: Python<'_>,
    values: *const *mut PyObject,
    names: *mut PyObject,
) -> Option<Capsule> {
    if names.is_null() {
        return Some(Capsule::Legacy);
    }
    let address = names.addr();
    let known = NAMES.iter().map_while(OnceLock::get).find(|known| known.address == address);
    let names = match known {
        Some(known) => *known,
        // SAFETY: 1. By 1 it is a tuple.
        None => unsafe { read(py, names) }?,
    };
    let mut capsule = Capsule::Legacy;
    for index in 0..names.count {
        // SAFETY: by 1 there is a value for each name.
        let value = unsafe { values.offset(index) };
        // SAFETY: as above.
        let value = unsafe { value.read() };
        // SAFETY: a constant of Python.
        if ptr::eq(value, unsafe { ffi::Py_None() }) {
            continue;
        }
        // Acquire: whoever compares it finds it alive.
        if names.max_version != Some(index) || !ptr::eq(value, VERSION.load(Ordering::Acquire)) {
            return None;
        }
        capsule = Capsule::Versioned;
    }
    Some(capsule)
}

/// What names mean, if each is a keyword.
///
/// # Safety
///
/// 1. `names` is a tuple, and alive.
#[inline(never)]
unsafe fn read(py: Python<'_>, names: *mut PyObject) -> Option<Names> {
    let mut max_version = None;
    // SAFETY: by 1.
    let count = unsafe { ffi::PyTuple_Size(names) };
    for index in 0..count {
        // SAFETY: by 1, and the index is in range.
        let name = unsafe { ffi::PyTuple_GetItem(names, index) };
        // Python interns the keywords of a call in source code, so nearly every
        // name is one of these very objects.
        if ptr::eq(name, intern!(py, "max_version").as_ptr()) {
            max_version = Some(index);
        } else if !(ptr::eq(name, intern!(py, "copy").as_ptr())
            || ptr::eq(name, intern!(py, "dl_device").as_ptr())
            || ptr::eq(name, intern!(py, "stream").as_ptr()))
        {
            return None;
        }
    }
    let read = Names { address: names.addr(), count, max_version };
    // SAFETY: by 1 it is alive.
    let names = unsafe { Bound::from_borrowed_ptr(py, names) };
    remember(&names, read);
    Some(read)
}

/// Has [`plain`] know names, the second time that they are seen.
fn remember(names: &Bound<'_, PyAny>, read: Names) {
    // It is kept alive there, so this is no other object of the same address.
    if ptr::eq(names.as_ptr(), SEEN.load(Ordering::Acquire)) {
        if NAMES.iter().any(|place| place.set(read).is_ok()) {
            // The list keeps it alive.
            let _ = names.clone().into_ptr();
        }
        return;
    }
    let old = SEEN.swap(names.clone().into_ptr(), Ordering::AcqRel);
    // SAFETY: this thread is attached; it is NULL or a reference made here, and
    // whoever else has loaded it only compares it.
    drop(unsafe { Bound::from_owned_ptr_or_opt(names.py(), old) });
}

/// Has [`plain`] know a version, if it is a tuple of two integers, and gets the
/// versioned capsule.
pub(super) fn remember_version(value: &Bound<'_, PyAny>, version: Version) {
    if Capsule::up_to(Some(version)) != Capsule::Versioned || !is_plain_pair(value) {
        return;
    }
    let old = VERSION.swap(value.clone().into_ptr(), Ordering::AcqRel);
    // SAFETY: this thread is attached; it is NULL or a reference made here, and
    // whoever else has loaded it only compares it.
    drop(unsafe { Bound::from_owned_ptr_or_opt(value.py(), old) });
}

/// Whether something is a tuple of integers, and nothing derived from them.
fn is_plain_pair(value: &Bound<'_, PyAny>) -> bool {
    value.is_exact_instance_of::<PyTuple>()
        && value.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>().is_ok_and(|(first, second)| {
            first.is_exact_instance_of::<PyInt>() && second.is_exact_instance_of::<PyInt>()
        })
}
