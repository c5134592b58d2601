//! Exceptions around foreign code that must not see them, nor leave any: [`InFlight`].

use core::ptr;

use pyo3::ffi::{self, PyObject};

/// An exception in flight, set aside; NULL three times where there is none,
/// which is nearly always and takes one call to see.
pub(super) struct InFlight {
    kind: *mut PyObject,
    value: *mut PyObject,
    traceback: *mut PyObject,
}

#[allow(deprecated, reason = "from 3.12 on; the replacement is not in the stable ABI before that")]
impl InFlight {
    /// # Safety
    ///
    /// 1. The calling thread is attached.
    pub(super) unsafe fn set_aside() -> Self {
        let mut in_flight =
            Self { kind: ptr::null_mut(), value: ptr::null_mut(), traceback: ptr::null_mut() };
        // SAFETY: by 1.
        if unsafe { ffi::PyErr_Occurred() }.is_null() {
            return in_flight;
        }
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

    /// Reports what was raised since, and puts the exception back.
    ///
    /// # Safety
    ///
    /// 1. The calling thread is attached.
    pub(super) unsafe fn restore(self) {
        // SAFETY: by 1.
        if !unsafe { ffi::PyErr_Occurred() }.is_null() {
            // The report must not name an object: the one at hand may be in
            // the midst of being freed, and a reference would free it again.
            // SAFETY: by 1, with an exception set.
            unsafe { ffi::PyErr_WriteUnraisable(ptr::null_mut()) };
        }
        if !self.kind.is_null() {
            // SAFETY: by 1; the three are what `set_aside` was given.
            unsafe { ffi::PyErr_Restore(self.kind, self.value, self.traceback) };
        }
    }
}
