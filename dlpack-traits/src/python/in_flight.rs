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
    #[inline]
    pub(super) unsafe fn set_aside() -> Self {
        // SAFETY: by 1.
        if unsafe { ffi::PyErr_Occurred() }.is_null() {
            return Self::nothing();
        }
        // SAFETY: 1. is 1. of this function.
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

    /// Reports what was raised since, and puts the exception back.
    ///
    /// # Safety
    ///
    /// 1. The calling thread is attached.
    #[inline]
    pub(super) unsafe fn restore(self) {
        // SAFETY: by 1.
        if !unsafe { ffi::PyErr_Occurred() }.is_null() {
            // SAFETY: 1. is 1. of this function.
            unsafe { report() }
        }
        if !self.kind.is_null() {
            // SAFETY: by 1; the three are what `set_aside` was given.
            unsafe { ffi::PyErr_Restore(self.kind, self.value, self.traceback) };
        }
    }
}

/// Reports an exception that nobody will look at.
///
/// # Safety
///
/// 1. The calling thread is attached, with an exception set.
#[cold]
#[inline(never)]
unsafe fn report() {
    // The report must not name an object: the one at hand may be in
    // the midst of being freed, and a reference would free it again.
    // SAFETY: 1.
    unsafe { ffi::PyErr_WriteUnraisable(ptr::null_mut()) };
}
