//! Detaches from the interpreter to wait for a device, and for long copies: [`detached`].

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

/// How many elements, whatever their size, take long enough to copy that other threads should
/// run meanwhile: some tens of microseconds.
pub(in crate::python) const LONG_COPY: i64 = 1 << 16;

/// Runs user code that copies the elements of a tensor, detached if `is_long`.
pub(in crate::python) fn copying<R>(
    py: Python<'_>,
    is_long: bool,
    run: impl Send + FnOnce() -> R,
) -> R {
    /// The result, which stays on its thread.
    struct SameThread<R>(R);
    // SAFETY: `detached` calls the closure on the calling thread.
    unsafe impl<R> Send for SameThread<R> {}
    if is_long { detached(py, || SameThread(run())).0 } else { run() }
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
