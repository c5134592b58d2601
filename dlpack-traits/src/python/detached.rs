//! Waiting for a device without keeping Python from running: [`detached`].

use pyo3::Python;
use pyo3::marker::Ungil;

use super::convert::attached;
use super::symbols::is_attached;
use crate::backend::{Around, wait_by};

/// Runs without the interpreter, so that other threads of Python go on.
pub(super) fn detached<R, F>(py: Python<'_>, run: F) -> R
where
    F: Ungil + FnOnce() -> R,
    R: Ungil,
{
    py.detach(run)
}

/// From now on Python goes on, too, while a free waits for a device.
pub(super) fn free_detached() {
    static WAIT: Around = wait_detached;
    wait_by(&WAIT);
}

/// Waits without the interpreter, if this thread has it. Objects are freed by
/// threads that are attached, deleters called by any.
fn wait_detached(wait: &mut (dyn FnMut() + Send)) {
    if !is_attached() {
        return wait();
    }
    // SAFETY: 1. This thread is attached, and is again when this returns.
    let py = unsafe { attached() };
    detached(py, wait);
}

// PyO3 0.25 has `Python::allow_threads`, 0.28 has `Python::detach`, and series
// between have both. A method of the type goes before one of a trait, so each of
// these is called where the type does not have it, and finds the other there.

/// For 0.25.
#[allow(dead_code, reason = "from 0.26 on the type has its own")]
trait Detach: Sized {
    fn detach<R: Ungil>(self, run: impl Ungil + FnOnce() -> R) -> R;
}

impl Detach for Python<'_> {
    #[allow(deprecated, reason = "in 0.26 and 0.27")]
    fn detach<R: Ungil>(self, run: impl Ungil + FnOnce() -> R) -> R {
        self.allow_threads(run)
    }
}

/// So that the above compiles with 0.28; it is never called.
#[allow(dead_code, reason = "up to 0.27 the type has its own")]
trait AllowThreads: Sized {
    fn allow_threads<R: Ungil>(self, run: impl Ungil + FnOnce() -> R) -> R;
}

impl AllowThreads for Python<'_> {
    fn allow_threads<R: Ungil>(self, run: impl Ungil + FnOnce() -> R) -> R {
        self.detach(run)
    }
}
