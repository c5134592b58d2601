//! The exchange table of a Python type: [`peer_of`].

use alloc::boxed::Box;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use pyo3::exceptions::PyAttributeError;
use pyo3::ffi::{self as py_ffi, PyObject};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyString, PyType};

use super::convert::quietly;
use super::peer::Peer;

/// Name of the capsule that holds a table.
const CAPSULE: &core::ffi::CStr = c"dlpack_exchange_api";

/// What is known of one type. It is never freed, and neither are the type and the
/// capsule, so no other type ever has its address.
struct Entry {
    class: *mut PyObject,
    peer: Option<Peer>,
}

/// Types that were looked up, at places that their addresses name. An entry
/// stays for good: readers need no lock, with or without a GIL.
///
/// It belongs to one interpreter, as PyO3 lets a module belong to one only.
static ENTRIES: [AtomicPtr<Entry>; 256] = [const { AtomicPtr::new(ptr::null_mut()) }; 256];

/// Places at which an entry may be, from its first on. Where all are taken the
/// type is looked up each time.
const PLACES: usize = 4;

/// The table of a type, its own or an inherited one, if it has one that we can read.
///
/// What was found, or that nothing was, is remembered, so a table that is added
/// to a type later may not be seen.
///
/// # Errors
///
/// What looking up the attribute raises, other than `AttributeError`.
#[inline]
pub(super) fn peer_of(class: &Bound<'_, PyType>) -> PyResult<Option<Peer>> {
    let key = class.as_ptr();
    for place in places(key) {
        // What the entry points to was written before.
        let entry = place.load(Ordering::Acquire);
        // SAFETY: entries are never freed.
        match unsafe { entry.as_ref() } {
            Some(entry) if ptr::eq(entry.class, key) => return Ok(entry.peer),
            Some(_) => {}
            None => break,
        }
    }
    look_up(class)
}

fn places(key: *mut PyObject) -> impl Iterator<Item = &'static AtomicPtr<Entry>> {
    // Types are allocated, and so aligned to 16 bytes.
    let first = key.addr() >> 4;
    let first = first ^ first >> 8;
    (first..first.wrapping_add(PLACES)).filter_map(|place| ENTRIES.get(place & 255))
}

#[cold]
fn look_up(class: &Bound<'_, PyType>) -> PyResult<Option<Peer>> {
    let (peer, table) = match find(class)? {
        Some((peer, table)) => (Some(peer), Some(table)),
        None => (None, None),
    };
    let new = Box::into_raw(Box::new(Entry { class: class.as_ptr(), peer }));
    for place in places(class.as_ptr()) {
        let found =
            place.compare_exchange(ptr::null_mut(), new, Ordering::AcqRel, Ordering::Acquire);
        match found {
            Ok(_) => {
                // For good.
                let _ = class.clone().into_ptr();
                let _ = table.map(Bound::into_ptr);
                return Ok(peer);
            }
            // SAFETY: entries are never freed.
            Err(other) if ptr::eq(unsafe { (*other).class }, class.as_ptr()) => break,
            Err(_) => {}
        }
    }
    // SAFETY: it came from a box, and nobody else has seen it.
    drop(unsafe { Box::from_raw(new) });
    Ok(peer)
}

/// Reads the attribute, which is looked up on the type: an object could say
/// anything about itself.
fn find<'py>(class: &Bound<'py, PyType>) -> PyResult<Option<(Peer, Bound<'py, PyAny>)>> {
    let py = class.py();
    let new = attribute(class, intern!(py, "__dlpack_c_exchange_api__"))?;
    // Its name in 1.2, and an integer then. A type that has the new one says
    // with it all there is to say, `None` included.
    let found = match new {
        None => attribute(class, intern!(py, "__c_dlpack_exchange_api__"))?,
        new => new,
    };
    Ok(found.and_then(|found| Some((from_capsule(&found)?, found))))
}

fn attribute<'py>(
    class: &Bound<'py, PyType>,
    name: &Bound<'py, PyString>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    match class.getattr(name) {
        Err(error) if error.is_instance_of::<PyAttributeError>(class.py()) => {
            Ok(quietly(class.py(), Err(error)))
        }
        found => found.map(Some),
    }
}

/// The table in a capsule of the right name; nothing for any other object.
fn from_capsule(object: &Bound<'_, PyAny>) -> Option<Peer> {
    // SAFETY: this thread is attached, and the object is alive.
    if unsafe { py_ffi::PyCapsule_IsValid(object.as_ptr(), CAPSULE.as_ptr()) } == 0 {
        return None;
    }
    // SAFETY: the capsule is valid under this name.
    let table = unsafe { py_ffi::PyCapsule_GetPointer(object.as_ptr(), CAPSULE.as_ptr()) };
    // SAFETY: 1. By its name the capsule holds a table, whose library is trusted
    // to have made it as the standard says.
    unsafe { Peer::read(table.cast()) }
}

/// The table that a type published as the address of one, as types did before
/// 1.3, under either name.
///
/// # Safety
///
/// 1. If either attribute of the type is an integer, it is 0 or the address of
///    a table that lives as long as the process.
pub(super) unsafe fn peer_by_address(class: &Bound<'_, PyType>) -> PyResult<Option<Peer>> {
    let py = class.py();
    for name in [intern!(py, "__dlpack_c_exchange_api__"), intern!(py, "__c_dlpack_exchange_api__")]
    {
        let Some(found) = attribute(class, name)? else { continue };
        if found.is_exact_instance_of::<PyInt>() {
            let address = core::ptr::with_exposed_provenance_mut(found.extract::<usize>()?);
            // SAFETY: 1.
            return Ok(unsafe { Peer::read(address) });
        }
    }
    Ok(None)
}
