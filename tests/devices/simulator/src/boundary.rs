//! Helpers of every C function: [`call`], [`release`], [`Out`].

use std::ffi::{c_int, c_void};

use crate::state;
use crate::status::Status;
use crate::work::Callback;

/// Where a program wants an answer: a pointer that it passed. Rust code makes
/// none but of such a pointer.
#[repr(transparent)]
pub(crate) struct Out<T>(*mut T);

impl<T> Out<T> {
    /// Answers. A NULL is refused.
    pub(crate) fn put(self, value: T) -> Result<(), Status> {
        if self.0.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        // SAFETY: it is a C argument whose contract is that it may be written, and it is
        // not NULL.
        unsafe { self.0.write(value) };
        Ok(())
    }

    /// Returns the output place whose type an attribute argument selects.
    pub(crate) fn of_attribute(place: *mut c_void) -> Self {
        Self(place.cast())
    }

    /// Writes the value if the caller passed a place for it.
    pub(crate) fn put_if_asked(self, value: T) {
        // The only error is that the caller passed no place.
        let _ = self.put(value);
    }
}

/// A call of the function `name`: counted, and failed on request.
pub(crate) fn call(name: &'static str, body: impl FnOnce() -> Result<(), Status>) -> c_int {
    code(enter(name).and_then(|()| body()))
}

/// The same for a function that releases an object. It releases also where it fails, as
/// drivers do: the error that they report there is an earlier one.
pub(crate) fn release(name: &'static str, body: impl FnOnce() -> Result<(), Status>) -> c_int {
    let entered = enter(name);
    let done = body();
    code(entered.and(done))
}

fn enter(name: &'static str) -> Result<(), Status> {
    let before = state::lock().faults.take_before(name);
    if let Some(Callback { function, argument }) = before {
        // SAFETY: the program gave both for one call, which is this.
        unsafe { function(argument) };
    }
    let mut state = state::lock();
    state.faults.enter(name)?;
    if state.initialized { Ok(()) } else { Err(Status::NOT_INITIALIZED) }
}

/// Returns the error code for C.
pub(crate) fn code(result: Result<(), Status>) -> c_int {
    result.err().map_or(0, |status| status.0)
}
