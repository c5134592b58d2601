//! Panics of user code, kept from unwinding into C.

/// Runs user code at the C boundary. `None` if it panicked.
///
/// Without `std` nothing can catch a panic: one that reaches `extern "C"`
/// aborts the process.
#[cfg(feature = "std")]
#[inline]
pub(crate) fn contain<R>(run: impl FnOnce() -> R) -> Option<R> {
    use core::panic::AssertUnwindSafe;
    use std::panic::catch_unwind;

    // What `run` leaves behind after a panic is as broken, or as whole, as it
    // would be for a thread that is joined after one.
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(value) => Some(value),
        Err(payload) => {
            drop_payload(payload);
            None
        }
    }
}

/// Runs user code at the C boundary.
#[cfg(not(feature = "std"))]
#[inline]
pub(crate) fn contain<R>(run: impl FnOnce() -> R) -> Option<R> {
    Some(run())
}

/// Drops what a panic carried. Its own drop may panic, with a payload whose
/// drop may panic, and so on: after a few of those the last one is leaked.
#[cfg(feature = "std")]
#[cold]
fn drop_payload(mut payload: alloc::boxed::Box<dyn core::any::Any + Send>) {
    use core::panic::AssertUnwindSafe;
    use std::panic::catch_unwind;

    for _ in 0..4 {
        match catch_unwind(AssertUnwindSafe(move || drop(payload))) {
            Ok(()) => return,
            Err(next) => payload = next,
        }
    }
    core::mem::forget(payload);
}
