//! Panics of user code, kept from unwinding into C, and from ending the process.

use core::mem::ManuallyDrop;

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

/// Runs code that drops a user's value. If this thread unwinds from a panic already, a
/// panic of that drop stops here: out of a destructor that runs for the first panic, it
/// would end the process.
///
/// It cannot help where two parts of one value panic in their drops, one after the other:
/// that is inside of the value's own destructor.
#[cfg(feature = "std")]
#[inline]
pub(crate) fn contain_second(drop: impl FnOnce()) {
    if std::thread::panicking() {
        // The first panic is on its way to whoever can hear of it.
        let _ = contain(drop);
    } else {
        drop();
    }
}

/// Runs code that drops a user's value. Without `std` nothing can catch a second panic,
/// which ends the process.
#[cfg(not(feature = "std"))]
#[inline]
pub(crate) fn contain_second(drop: impl FnOnce()) {
    drop();
}

/// A value whose drop, while this thread unwinds, ends in [`contain_second`].
pub(crate) struct Contained<T>(ManuallyDrop<T>);

impl<T> Contained<T> {
    #[inline]
    pub(crate) const fn new(value: T) -> Self {
        Self(ManuallyDrop::new(value))
    }

    /// The value, borrowed.
    #[inline]
    pub(crate) fn get(&self) -> &T {
        &self.0
    }

    /// The value.
    #[inline]
    pub(crate) fn into_inner(self) -> T {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: it is not used again: `this` is not dropped.
        unsafe { ManuallyDrop::take(&mut this.0) }
    }
}

impl<T> Drop for Contained<T> {
    fn drop(&mut self) {
        // SAFETY: it is not used again.
        contain_second(|| unsafe { ManuallyDrop::drop(&mut self.0) });
    }
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
