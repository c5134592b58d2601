//! Containment of panics of user code: they must neither unwind into C nor abort the
//! process.

use core::mem::ManuallyDrop;

/// Runs user code at the C boundary. Returns `None` if it panicked.
///
/// Without `std` a panic cannot be caught: one that reaches `extern "C"` aborts the
/// process.
#[cfg(feature = "std")]
#[inline]
pub(crate) fn catch_panic<R>(run: impl FnOnce() -> R) -> Option<R> {
    use core::panic::AssertUnwindSafe;
    use std::panic::catch_unwind;

    // Asserting unwind safety is correct here: after a panic, the state that `run` modified
    // is exposed to other code in the same way as after a panic of a joined thread.
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
pub(crate) fn catch_panic<R>(run: impl FnOnce() -> R) -> Option<R> {
    Some(run())
}

/// Runs code that drops a user's value. If this thread is already unwinding from a panic, a
/// panic of that drop is caught here; leaving a destructor that runs during the unwinding,
/// it would abort the process.
///
/// It cannot help if two fields of one value panic in their drops, one after the other,
/// because that happens inside of the value's own destructor.
#[cfg(feature = "std")]
#[inline]
pub(crate) fn catch_second_panic(drop: impl FnOnce()) {
    if std::thread::panicking() {
        // The first panic is reported; the second is discarded.
        let _ = catch_panic(drop);
    } else {
        drop();
    }
}

/// Runs code that drops a user's value. Without `std` a second panic cannot be caught, and
/// aborts the process.
#[cfg(not(feature = "std"))]
#[inline]
pub(crate) fn catch_second_panic(drop: impl FnOnce()) {
    drop();
}

/// A value that is dropped by [`catch_second_panic`].
pub(crate) struct Contained<T>(ManuallyDrop<T>);

impl<T> Contained<T> {
    #[inline]
    pub(crate) const fn new(value: T) -> Self {
        Self(ManuallyDrop::new(value))
    }

    /// Borrows the value.
    #[inline]
    pub(crate) fn get(&self) -> &T {
        &self.0
    }

    /// Borrows the value for changes.
    pub(crate) fn get_mut(&mut self) -> &mut T {
        &mut self.0
    }

    /// Returns the value.
    #[inline]
    pub(crate) fn into_inner(self) -> T {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: the value is not used again: `this` is not dropped.
        unsafe { ManuallyDrop::take(&mut this.0) }
    }
}

impl<T> Drop for Contained<T> {
    fn drop(&mut self) {
        // SAFETY: the value is not used again.
        catch_second_panic(|| unsafe { ManuallyDrop::drop(&mut self.0) });
    }
}

/// Drops the payload of a panic. Its own drop may panic, with a payload whose drop may
/// panic, and so on: after four of them the last one is leaked.
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
