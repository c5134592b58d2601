//! Sets a pending Python exception aside while foreign code runs: [`SavedError`], and around
//! deleters of imported tensors [`preserve_exception`].

use core::ptr;

use pyo3::ffi::{self, PyObject};

use crate::python::interpreter::exit::Attaching;
use crate::python::interpreter::symbols::is_attached;

/// Calls the deleter of a tensor that was imported from Python.
///
/// The deleter may release a Python object, and so run any code. A pending exception is
/// therefore set aside during the call, and an exception that the deleter leaves behind
/// is reported as unraisable. A thread that is not attached has no pending exception: a
/// deleter attaches by itself if it needs to.
pub(in crate::python) fn preserve_exception(delete: &mut dyn FnMut()) {
    if !is_attached() {
        // The deleter is called even if the interpreter finalises: it may not need to
        // attach.
        let _attaching = Attaching::begin();
        return delete();
    }
    // SAFETY: 1. This thread is attached.
    let in_flight = unsafe { SavedError::set_aside() };
    delete();
    // SAFETY: 1. This thread is attached: a deleter leaves it attached.
    unsafe { in_flight.restore() };
}

/// A pending exception that was set aside. All three pointers are NULL if there was none,
/// which is nearly always the case and costs one call to check.
pub(in crate::python) struct SavedError {
    kind: *mut PyObject,
    value: *mut PyObject,
    traceback: *mut PyObject,
}

#[allow(deprecated, reason = "from 3.12 on; the replacement is not in the stable ABI before that")]
impl SavedError {
    /// # Safety
    ///
    /// 1. The calling thread is attached.
    #[inline]
    pub(in crate::python) unsafe fn set_aside() -> Self {
        // SAFETY: by 1 this thread is attached.
        if unsafe { ffi::PyErr_Occurred() }.is_null() {
            return Self::nothing();
        }
        // SAFETY: 1 (this thread is attached): guaranteed by our caller's 1.
        unsafe { Self::fetch() }
    }

    const fn nothing() -> Self {
        Self { kind: ptr::null_mut(), value: ptr::null_mut(), traceback: ptr::null_mut() }
    }

    /// # Safety
    ///
    /// 1. The calling thread is attached.
    #[cold]
    #[inline(never)]
    unsafe fn fetch() -> Self {
        let mut in_flight = Self::nothing();
        // SAFETY: by 1, and the three pointers may be written.
        unsafe {
            ffi::PyErr_Fetch(
                &raw mut in_flight.kind,
                &raw mut in_flight.value,
                &raw mut in_flight.traceback,
            );
        }
        in_flight
    }

    /// Reports an exception that was raised since, and restores the one that was set
    /// aside.
    ///
    /// # Safety
    ///
    /// 1. The calling thread is attached.
    #[inline]
    pub(in crate::python) unsafe fn restore(self) {
        // SAFETY: by 1 this thread is attached.
        if !unsafe { ffi::PyErr_Occurred() }.is_null() {
            // SAFETY: 1. By 1 this thread is attached, and an exception is set.
            unsafe { report() }
        }
        if !self.kind.is_null() {
            // SAFETY: by 1; the three references are those that `PyErr_Fetch` returned.
            unsafe { ffi::PyErr_Restore(self.kind, self.value, self.traceback) };
        }
    }
}

/// Reports an exception that no caller can handle, as unraisable.
///
/// # Safety
///
/// 1. The calling thread is attached, with an exception set.
#[cold]
#[inline(never)]
unsafe fn report() {
    // The report must not name an object: the object at hand may be in the middle of its
    // deallocation, and taking a reference to it would free it again.
    // SAFETY: by 1 this thread is attached.
    unsafe { ffi::PyErr_WriteUnraisable(ptr::null_mut()) };
}
