//! Access to the interpreter: symbols, pending exceptions, waiting and finalization. To wait for a
//! device, and for long copies, a thread detaches from it: [`detached_if`]. Other interpreters of the
//! process than the first are rejected: [`in_first_interpreter`].

pub(in crate::python) mod drop_attached;
pub(in crate::python) mod pending_exception;
pub(in crate::python) mod symbols;

use pyo3::exceptions::PyImportError;
use pyo3::ffi as py_ffi;
use pyo3::prelude::*;

use self::symbols::is_attached;
use crate::backend::{BlockingHook, set_blocking_hook};

/// Rejects subinterpreters: deleters attach with `PyGILState_Ensure`, which cannot attach
/// to a subinterpreter and blocks forever.
pub(in crate::python) fn in_first_interpreter(py: Python<'_>) -> PyResult<()> {
    // SAFETY: this thread is attached.
    let interpreter = unsafe { py_ffi::PyInterpreterState_Get() };
    // SAFETY: as above, and the interpreter of an attached thread is alive.
    match unsafe { py_ffi::PyInterpreterState_GetID(interpreter) } {
        0 => Ok(()),
        -1 => Err(PyErr::fetch(py)),
        _ => Err(PyImportError::new_err(
            "classes of tensors exist in the first interpreter of a process only: import this \
             module there",
        )),
    }
}

/// How many elements, whatever their size, take long enough to copy that other threads should
/// run meanwhile: some tens of microseconds.
pub(in crate::python) const LONG_COPY: i64 = 1 << 16;

/// Runs a closure, detached from the interpreter if `is_long`, so that other Python threads can run.
pub(in crate::python) fn detached_if<R>(
    py: Python<'_>,
    is_long: bool,
    run: impl Send + FnOnce() -> R,
) -> R {
    /// The result, which stays on its thread.
    struct SameThread<R>(R);
    // SAFETY: `detach` calls the closure on the calling thread.
    unsafe impl<R> Send for SameThread<R> {}
    if is_long { py.detach(|| SameThread(run())).0 } else { run() }
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
    // SAFETY: this thread is attached, and is attached again when this function
    // returns.
    let py = unsafe { Python::assume_attached() };
    py.detach(wait);
}
