//! What every C function has in common: [`call`], [`release`], [`Out`].

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
        // SAFETY: it came from C as an argument whose contract is that it may be
        // written, and is not NULL.
        unsafe { self.0.write(value) };
        Ok(())
    }

    /// The place for an answer whose type an argument named.
    pub(crate) fn of_attribute(place: *mut c_void) -> Self {
        Self(place.cast())
    }

    /// Answers if it was asked for.
    pub(crate) fn put_if_asked(self, value: T) {
        // The only refusal is that nobody asked.
        let _ = self.put(value);
    }
}

/// A call of the function `name`: counted, and failed on request.
pub(crate) fn call(name: &'static str, body: impl FnOnce() -> Result<(), Status>) -> c_int {
    code(enter(name).and_then(|()| body()))
}

/// The same for a function that gives something back. It does so even where it
/// fails, as drivers do: what they report there is an earlier error.
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

/// What C sees.
pub(crate) fn code(result: Result<(), Status>) -> c_int {
    result.err().map_or(0, |status| status.0)
}
