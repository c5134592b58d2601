//! Capsules, as a careful producer makes them, with any name.

use core::ffi::{CStr, c_char, c_void};
use core::ptr;

use dlpack_hostile::{Given, Oddity};
use pyo3::ffi as py_ffi;
use pyo3::prelude::*;

use crate::play::{Play, delete};

/// Whether the case concerns capsules.
pub(crate) fn is_odd(oddity: Oddity) -> bool {
    matches!(oddity, Oddity::Named(_) | Oddity::Used)
}

/// A capsule with a new struct.
pub(crate) fn of<'py>(play: &Bound<'py, Play>, legacy: bool) -> PyResult<Bound<'py, PyAny>> {
    let state = play.get();
    let name = match &state.trial.given {
        Given::Object(Oddity::Named(name), _) => *name,
        Given::Object(Oddity::Used, _) if legacy => Some(c"used_dltensor"),
        Given::Object(Oddity::Used, _) => Some(c"used_dltensor_versioned"),
        _ if legacy => Some(c"dltensor"),
        _ => Some(c"dltensor_versioned"),
    };
    let pointer: *mut c_void =
        if legacy { state.legacy().cast() } else { state.versioned().cast() };
    let name = name.map_or(ptr::null(), CStr::as_ptr);
    // SAFETY: this thread is attached; the name is static, or NULL, and the pointer not.
    let capsule = unsafe { py_ffi::PyCapsule_New(pointer, name, Some(destroy)) };
    // SAFETY: it is a new reference, or NULL with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(play.py(), capsule) }
}

/// Calls the deleter of a tensor that was never consumed. It finds the tensor by its
/// address alone, so a consumer that released the struct and did not rename the capsule is
/// counted as two calls.
unsafe extern "C" fn destroy(capsule: *mut py_ffi::PyObject) {
    // SAFETY: a destructor is called with its capsule, attached.
    let name: *const c_char = unsafe { py_ffi::PyCapsule_GetName(capsule) };
    let used = if name.is_null() {
        false
    } else {
        // SAFETY: the name of a capsule is a C string.
        unsafe { CStr::from_ptr(name) }.to_bytes().starts_with(b"used_")
    };
    if !used {
        // SAFETY: as above, and the capsule has that name.
        let pointer = unsafe { py_ffi::PyCapsule_GetPointer(capsule, name) };
        delete(pointer.addr());
    }
}
