//! Waits of the host in frees, which an interpreter may have to let go of itself
//! for: [`patiently`].

use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::error::Error;

/// Calls a function that waits, once, so that whatever it waits for can go on.
pub(crate) type Around = fn(&mut (dyn FnMut() + Send));

/// Set by whoever keeps others from running while a thread waits: Python.
static AROUND: AtomicPtr<Around> = AtomicPtr::new(ptr::null_mut());

/// From now on waits in frees are made in this way.
#[cfg(feature = "pyo3")]
pub(crate) fn wait_by(around: &'static Around) {
    AROUND.store(ptr::from_ref(around).cast_mut(), Ordering::Release);
}

/// Waits for a device in a free. An object of Python is freed, or a deleter called,
/// by a thread that keeps all others from running, and the device may be waiting
/// for one of them.
pub(super) fn patiently(wait: impl Fn() -> Result<(), Error> + Send + Sync) -> Result<(), Error> {
    // SAFETY: what `wait_by` put there is never changed, and lives for good.
    let Some(around) = (unsafe { AROUND.load(Ordering::Acquire).as_ref() }) else {
        return wait();
    };
    let mut outcome = None;
    around(&mut || outcome = Some(wait()));
    outcome.unwrap_or_else(wait)
}
