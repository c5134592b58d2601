//! Detaches from the interpreter to wait for a device: [`detached`].

use pyo3::Python;
use pyo3::marker::Ungil;

use crate::backend::{BlockingHook, set_blocking_hook};
use crate::python::convert::attached;
use crate::python::interpreter::symbols::is_attached;

/// Runs a closure detached from the interpreter, so that other Python threads can run.
pub(in crate::python) fn detached<R, F>(py: Python<'_>, run: F) -> R
where
    F: Ungil + FnOnce() -> R,
    R: Ungil,
{
    py.detach(run)
}

/// Makes frees that wait for a device detach from the interpreter while they wait.
pub(in crate::python) fn free_detached() {
    static WAIT: BlockingHook = wait_detached;
    set_blocking_hook(&WAIT);
}

/// Waits, detached if this thread is attached: attached threads free objects, and
/// deleters are called by any thread.
fn wait_detached(wait: &mut (dyn FnMut() + Send)) {
    if !is_attached() {
        return wait();
    }
    // SAFETY: 1. This thread is attached, and is attached again when this function
    // returns.
    let py = unsafe { attached() };
    detached(py, wait);
}

// PyO3 0.25 has `Python::allow_threads`, 0.28 has `Python::detach`, and the versions
// between have both. An inherent method takes precedence over a trait method, so each of
// these trait methods is called only where the inherent one is missing, and calls the
// other inherent one.

/// Supplies `detach` for PyO3 0.25.
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

/// Supplies `allow_threads`, so that the code above compiles with PyO3 0.28. It is never
/// called.
#[allow(dead_code, reason = "up to 0.27 the type has its own")]
trait AllowThreads: Sized {
    fn allow_threads<R: Ungil>(self, run: impl Ungil + FnOnce() -> R) -> R;
}

impl AllowThreads for Python<'_> {
    fn allow_threads<R: Ungil>(self, run: impl Ungil + FnOnce() -> R) -> R {
        self.detach(run)
    }
}
