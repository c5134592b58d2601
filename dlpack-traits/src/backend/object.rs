//! Objects of a vendor's library: [`Object`] owns one.

use core::ffi::c_void;
use core::ptr::NonNull;
use std::process::abort;

/// A pointer to an object of a library.
pub(super) type Ref = *mut c_void;

/// A guard that aborts the process if a C++ exception unwinds through it. Most functions
/// catch exceptions and return NULL. Some do not, but throw nothing as long as they are
/// called in the order that their backend guarantees.
pub(super) struct NoException;

impl Drop for NoException {
    fn drop(&mut self) {
        abort();
    }
}

/// An owned reference to an object of a library, which the function `release` of the table `C`
/// releases.
#[derive(Debug)]
pub(super) struct Object<C: 'static, R = ()> {
    raw: NonNull<c_void>,
    release: unsafe fn(&C, Ref) -> R,
    calls: &'static C,
}

// SAFETY: the libraries whose objects are owned by this type, those of SYCL, OpenCL and WebGPU,
// document that any thread may use and release them.
unsafe impl<C: Sync, R> Send for Object<C, R> {}
// SAFETY: as above, also several threads at once. The arguments of OpenCL's kernels are the only
// exception, and are not used here.
unsafe impl<C: Sync, R> Sync for Object<C, R> {}

impl<C, R> Object<C, R> {
    /// Takes ownership of a reference.
    ///
    /// # Safety
    ///
    /// 1. The reference is ours to release, by `release`.
    pub(super) unsafe fn new(
        calls: &'static C,
        raw: NonNull<c_void>,
        release: unsafe fn(&C, Ref) -> R,
    ) -> Self {
        Self { raw, release, calls }
    }

    pub(super) fn raw(&self) -> Ref {
        self.raw.as_ptr()
    }

    /// Returns the reference, which the caller must release.
    #[cfg(any(feature = "opencl", feature = "webgpu"))]
    pub(super) fn into_raw(self) -> NonNull<c_void> {
        core::mem::ManuallyDrop::new(self).raw
    }
}

impl<C, R> Drop for Object<C, R> {
    fn drop(&mut self) {
        // SAFETY: 1. The reference is ours by 1 of `new`, and not used any more. An error cannot
        // be reported here.
        let _ = unsafe { (self.release)(self.calls, self.raw.as_ptr()) };
    }
}
