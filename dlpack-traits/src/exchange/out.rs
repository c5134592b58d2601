//! The place where a table function stores its result: [`Out`].

use core::ptr::{self, NonNull};

use super::TableError;

/// The place where a table function stores its result: a pointer.
pub(super) struct Out<R>(NonNull<*mut R>);

impl<R> Out<R> {
    /// Sets a result to NULL, and returns the place where to store it.
    ///
    /// # Safety
    ///
    /// 1. `out` is NULL, or may be written for as long as the value returned here exists.
    #[inline]
    pub(super) unsafe fn cleared<E>(out: *mut *mut R) -> Result<Self, TableError<E>> {
        // Not `ok_or`: it would construct the fault on every call, and dropping it is a
        // function call.
        let Some(out) = NonNull::new(out) else {
            return Err(TableError::NullArgument { name: "out" });
        };
        let mut out = Self(out);
        out.set(ptr::null_mut());
        Ok(out)
    }

    /// Stores the result.
    #[inline]
    pub(super) fn set(&mut self, result: *mut R) {
        // SAFETY: by 1 of `cleared` it may be written.
        unsafe { self.0.write(result) }
    }
}
