//! Sets a pending Python exception aside while foreign code runs: [`SavedError`],
//! [`PendingAside`], [`preserve_exception`].

use core::{mem, ptr};

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
    let in_flight = SavedError::set_aside(py);
    delete();
    in_flight.restore(py);
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
    /// Clears the pending exception, if there is one, and stores it.
    #[inline]
    pub(in crate::python) fn set_aside(py: Python<'_>) -> Self {
        if is_pending(py) { Self::fetch(py) } else { Self::nothing() }
    }

    const fn nothing() -> Self {
        Self { kind: ptr::null_mut(), value: ptr::null_mut(), traceback: ptr::null_mut() }
    }

    #[cold]
    #[inline(never)]
    fn fetch(_: Python<'_>) -> Self {
        let mut in_flight = Self::nothing();
        // SAFETY: this thread is attached, and the three pointers may be written.
        unsafe {
            ffi::PyErr_Fetch(
                &raw mut in_flight.kind,
                &raw mut in_flight.value,
                &raw mut in_flight.traceback,
            );
        }
        in_flight
    }

    /// Restores the exception. One that is pending now is reported as unraisable.
    #[inline]
    pub(in crate::python) fn restore(self, py: Python<'_>) {
        if is_pending(py) {
            // The report must not name an object: the object at hand may be in the middle of
            // its deallocation, and taking a reference to it would free it again.
            // SAFETY: this thread is attached, and an exception is set.
            unsafe { ffi::PyErr_WriteUnraisable(ptr::null_mut()) };
        }
        if !self.kind.is_null() {
            // SAFETY: this thread is attached; the three references are those that
            // `PyErr_Fetch` returned.
            unsafe { ffi::PyErr_Restore(self.kind, self.value, self.traceback) };
        }
    }
}

/// Sets a pending exception aside, and restores it when this is dropped, also by a panic.
///
/// A consumer may call a C function again after a failure without clearing its exception, as
/// PyTorch requests buffers. Code of Python, which the function may run, would then fail. If the
/// function fails afterwards, it raises its own exception in place of the restored one.
pub(in crate::python) struct PendingAside<'py>(Python<'py>, SavedError);

impl<'py> PendingAside<'py> {
    #[inline]
    pub(in crate::python) fn new(py: Python<'py>) -> Self {
        Self(py, SavedError::set_aside(py))
    }
}

impl Drop for PendingAside<'_> {
    #[inline]
    fn drop(&mut self) {
        if !self.1.kind.is_null() {
            mem::replace(&mut self.1, SavedError::nothing()).restore(self.0);
        }
    }
}

/// Whether an exception is pending.
#[inline]
pub(in crate::python) fn is_pending(py: Python<'_>) -> bool {
    PyErr::occurred(py)
}
