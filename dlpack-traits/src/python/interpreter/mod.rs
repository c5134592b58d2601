//! Access to the interpreter: symbols, pending exceptions, waiting and finalization. Other
//! interpreters of the process than the first are rejected: [`in_first_interpreter`].

pub(in crate::python) mod deferred_drop;
pub(in crate::python) mod detach;
pub(in crate::python) mod drop_attached;
pub(in crate::python) mod exit;
pub(in crate::python) mod pending_exception;
pub(in crate::python) mod symbols;

use pyo3::exceptions::PyImportError;
use pyo3::ffi as py_ffi;
use pyo3::prelude::*;

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
