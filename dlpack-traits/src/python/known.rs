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

/// The first names that were passed: programs have few consumers.
static NAMES: [OnceLock<Names>; 8] = [const { OnceLock::new() }; 8];

/// Names of which each is a keyword of `__dlpack__`.
struct Names {
    /// Their tuple.
    address: usize,
    count: usize,
    /// Which of them is `max_version`.
    max_version: Option<usize>,
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
pub(super) unsafe fn plain(values: *const *mut PyObject, names: *mut PyObject) -> Option<Capsule> {
    if names.is_null() {
        return Some(Capsule::Legacy);
    }
    let names = known(names)?;
    let mut capsule = Capsule::Legacy;
    for index in 0..names.count {
        // SAFETY: by 1 there is a value for each name.
        let value = unsafe { values.add(index) };
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

/// What is known of these names.
#[inline(always)]
fn known(names: *mut PyObject) -> Option<&'static Names> {
    let names = names.addr();
    NAMES.iter().map_while(OnceLock::get).find(|known| known.address == names)
}

/// Has [`plain`] know the names of a call, if each is a keyword.
pub(super) fn remember_names(names: &Bound<'_, PyTuple>) {
    if known(names.as_ptr()).is_some() {
        return;
    }
    let py = names.py();
    // Python interns the keywords of a call in source code, so nearly every name is one of
    // these very objects.
    let first = intern!(py, "max_version");
    let others = [intern!(py, "copy"), intern!(py, "dl_device"), intern!(py, "stream")];
    let mut max_version = None;
    for (index, name) in names.iter().enumerate() {
        if name.is(first) {
            max_version = Some(index);
        } else if !others.into_iter().any(|other| name.is(other)) {
            return;
        }
    }
    for place in &NAMES {
        let mut new = false;
        let known = place.get_or_init(|| {
            new = true;
            let address = names.clone().into_ptr().addr();
            Names { address, count: names.len(), max_version }
        });
        if new || known.address == names.as_ptr().addr() {
            return;
        }
    }
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
