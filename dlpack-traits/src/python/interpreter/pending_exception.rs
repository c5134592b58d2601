//! Sets a pending Python exception aside while other code runs: [`PendingAside`],
//! [`preserve_exception`].

use core::ptr;

use pyo3::ffi::{self, PyObject};
use pyo3::{PyErr, Python};

use crate::python::interpreter::symbols::is_attached;

/// Calls a deleter.
///
/// The deleter may release a Python object, and so run any code. A pending exception is
/// therefore set aside during the call, and an exception that the deleter leaves behind
/// is reported as unraisable. A thread that is not attached has no pending exception.
pub(in crate::python) fn preserve_exception(delete: &mut dyn FnMut()) {
    if !is_attached() {
        return delete();
    }
    // SAFETY: this thread is attached, and a deleter leaves it attached.
    let py = unsafe { Python::assume_attached() };
    let _pending = PendingAside::reporting(py);
    delete();
}

/// Sets a pending exception aside, and restores it when this is dropped, also by a panic. Nearly
/// always there is none, which costs one call to check.
///
/// A consumer may call a C function again after a failure without clearing its exception, as
/// PyTorch requests buffers. Code of Python, which the function may run, would then fail. If the
/// function fails afterwards, it raises its own exception in place of the restored one.
pub(in crate::python) struct PendingAside<'py> {
    py: Python<'py>,
    /// The kind, the value and the traceback; NULL if there was no exception.
    saved: [*mut PyObject; 3],
    reports: bool,
}

impl<'py> PendingAside<'py> {
    /// Without an exception to restore, one that is pending when this is dropped is left.
    #[inline]
    pub(in crate::python) fn new(py: Python<'py>) -> Self {
        Self::of(py, false)
    }

    /// An exception that is pending when this is dropped is reported as unraisable.
    #[inline]
    pub(in crate::python) fn reporting(py: Python<'py>) -> Self {
        Self::of(py, true)
    }

    #[inline]
    fn of(py: Python<'py>, reports: bool) -> Self {
        let saved = if is_pending(py) { fetch(py) } else { [ptr::null_mut(); 3] };
        Self { py, saved, reports }
    }
}

/// Clears the pending exception, and returns it.
#[cold]
#[inline(never)]
#[allow(deprecated, reason = "from 3.12 on; the replacement is not in the stable ABI before that")]
fn fetch(_: Python<'_>) -> [*mut PyObject; 3] {
    let mut saved = [ptr::null_mut(); 3];
    let [kind, value, traceback] = &mut saved;
    // SAFETY: this thread is attached, and the three pointers may be written.
    unsafe { ffi::PyErr_Fetch(kind, value, traceback) };
    saved
}

impl Drop for PendingAside<'_> {
    #[inline]
    #[allow(deprecated, reason = "as for `fetch`")]
    fn drop(&mut self) {
        let [kind, value, traceback] = self.saved;
        if (self.reports || !kind.is_null()) && is_pending(self.py) {
            // The report must not name an object: the object at hand may be in the middle of
            // its deallocation, and taking a reference to it would free it again.
            // SAFETY: this thread is attached, and an exception is set.
            unsafe { ffi::PyErr_WriteUnraisable(ptr::null_mut()) };
        }
        if !kind.is_null() {
            // SAFETY: this thread is attached; the three references are those that
            // `PyErr_Fetch` returned.
            unsafe { ffi::PyErr_Restore(kind, value, traceback) };
        }
    }
}

/// Whether an exception is pending.
#[inline]
pub(in crate::python) fn is_pending(py: Python<'_>) -> bool {
    PyErr::occurred(py)
}
