//! Clears the result of a table function before the function runs: [`cleared`].

use core::ptr::{self, NonNull};

use super::TableError;

/// Sets a result to NULL, and returns the pointer through which to write it.
///
/// # Safety
///
/// 1. `out` is NULL, or may be written.
#[inline]
pub(super) unsafe fn cleared<R, E>(out: *mut *mut R) -> Result<NonNull<*mut R>, TableError<E>> {
    // Not `ok_or`: it would construct the fault on every call, and dropping it is a
    // function call.
    let Some(out) = NonNull::new(out) else {
        return Err(TableError::NullArgument { name: "out" });
    };
    // SAFETY: by 1 it may be written, since it is not NULL.
    unsafe { out.write(ptr::null_mut()) };
    Ok(out)
}
