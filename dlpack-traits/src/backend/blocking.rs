//! Waits on the host in frees, around which Python detaches from the
//! interpreter: [`run_blocking`].
//!
//! The hook is used around waits only, because a thread that detaches may have to wait for
//! the GIL again. Without it, a free by a thread with the GIL hung if the device's work
//! called Python (`cupy.cuda.Stream.launch_host_func`).

use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::error::Error;

/// Calls the closure, which waits, exactly once, so that other threads can run
/// meanwhile.
pub(crate) type BlockingHook = fn(&mut (dyn FnMut() + Send));

/// Set by the Python glue, to release the GIL during a wait.
static AROUND: AtomicPtr<BlockingHook> = AtomicPtr::new(ptr::null_mut());

/// Makes all later waits in frees go through `around`.
#[cfg(feature = "pyo3")]
pub(crate) fn set_blocking_hook(around: &'static BlockingHook) {
    AROUND.store(ptr::from_ref(around).cast_mut(), Ordering::Release);
}

/// Waits for a device in a free. A thread that frees a Python object or calls a
/// deleter may hold the GIL, while the device waits for another thread that
/// needs it.
pub(super) fn run_blocking(
    wait: impl Fn() -> Result<(), Error> + Send + Sync,
) -> Result<(), Error> {
    // SAFETY: the pointer is NULL or comes from the `&'static` that `set_blocking_hook`
    // stored.
    let Some(around) = (unsafe { AROUND.load(Ordering::Acquire).as_ref() }) else {
        return wait();
    };
    let mut outcome = None;
    around(&mut || outcome = Some(wait()));
    outcome.unwrap_or_else(wait)
}
