//! Recognizes the calls of `__dlpack__` that nearly all consumers make, by the addresses
//! of their arguments: [`plain`].
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

use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};
use std::sync::OnceLock;

use pyo3::ffi::{self, PyObject};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyTuple};

use crate::python::export::protocol::Capsule;
use crate::version::Version;

/// The last `max_version` object that selected the versioned capsule.
static VERSION: AtomicPtr<PyObject> = AtomicPtr::new(ptr::null_mut());

/// Cached keyword tuples: those that were passed twice in a row. Programs have few of
/// them, so the first eight stay.
static NAMES: [OnceLock<Names>; 8] = [const { OnceLock::new() }; 8];

/// The last keyword tuple that is not cached. It is kept alive, so a caller that makes a
/// new tuple for each call never gets the same address again.
static SEEN: AtomicPtr<PyObject> = AtomicPtr::new(ptr::null_mut());

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
/// all other calls, which take the slow path.
///
/// # Safety
///
/// 1. `values` and `names` are as [`for_each_keyword`](crate::python::export::method_def::for_each_keyword)
///    requires them.
#[inline(always)]
pub(in crate::python) unsafe fn common_capsule(
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
        // SAFETY: it returns a constant of Python.
        if ptr::eq(value, unsafe { ffi::Py_None() }) {
            continue;
        }
        // Acquire: an object whose address is stored here is alive.
        if names.max_version != Some(index) || !ptr::eq(value, VERSION.load(Ordering::Acquire)) {
            return None;
        }
        capsule = Capsule::Versioned;
    }
    Some(capsule)
}

/// Finds `max_version` among names, if each of them is a keyword.
///
/// # Safety
///
/// 1. `names` is a tuple, and alive.
#[inline(never)]
unsafe fn read(py: Python<'_>, names: *mut PyObject) -> Option<Names> {
    let mut max_version = None;
    // SAFETY: by 1 it is a tuple.
    let count = unsafe { ffi::PyTuple_Size(names) };
    for index in 0..count {
        // SAFETY: by 1 it is a tuple, and the index is in range.
        let name = unsafe { ffi::PyTuple_GetItem(names, index) };
        // Python interns the keywords of calls in source code, so nearly every name is
        // identical to one of these objects.
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

/// Caches names for [`plain`], the second time that they are passed.
fn remember(names: &Bound<'_, PyAny>, read: Names) {
    // `SEEN` keeps it alive, so no other object has its address.
    if ptr::eq(names.as_ptr(), SEEN.load(Ordering::Acquire)) {
        if NAMES.iter().any(|place| place.set(read).is_ok()) {
            // The list owns this reference.
            let _ = names.clone().into_ptr();
        }
        return;
    }
    let old = SEEN.swap(names.clone().into_ptr(), Ordering::AcqRel);
    // SAFETY: this thread is attached; `old` is NULL or a reference made here, and other
    // threads that have loaded it only compare it.
    drop(unsafe { Bound::from_owned_ptr_or_opt(names.py(), old) });
}

/// Caches a version for [`plain`], if it is a tuple of two integers and selects the
/// versioned capsule.
pub(in crate::python) fn remember_version(value: &Bound<'_, PyAny>, version: Version) {
    if Capsule::up_to(Some(version)) != Capsule::Versioned || !is_plain_pair(value) {
        return;
    }
    let old = VERSION.swap(value.clone().into_ptr(), Ordering::AcqRel);
    // SAFETY: this thread is attached; `old` is NULL or a reference made here, and other
    // threads that have loaded it only compare it.
    drop(unsafe { Bound::from_owned_ptr_or_opt(value.py(), old) });
}

/// Whether a value is a tuple of integers, none of them of a subclass.
fn is_plain_pair(value: &Bound<'_, PyAny>) -> bool {
    value.is_exact_instance_of::<PyTuple>()
        && value.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>().is_ok_and(|(first, second)| {
            first.is_exact_instance_of::<PyInt>() && second.is_exact_instance_of::<PyInt>()
        })
}
