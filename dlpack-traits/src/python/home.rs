//! One interpreter for all classes of tensors: [`check`].

use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use pyo3::exceptions::PyImportError;
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;

/// The modules of the interpreter that came first: an object that each
/// interpreter has for itself, and which the reference here keeps from being
/// freed, so that no other ever has its address.
static HOME: AtomicPtr<PyObject> = AtomicPtr::new(ptr::null_mut());

/// Refuses a second interpreter.
///
/// PyO3 keeps classes and strings in statics, and so shares them between
/// interpreters; not every series of it refuses to load there.
///
/// # Errors
///
/// `ImportError` in every interpreter but the first.
pub(super) fn check(py: Python<'_>) -> PyResult<()> {
    // SAFETY: this thread is attached; the result is borrowed, and not NULL.
    let modules = unsafe { Bound::from_borrowed_ptr(py, ffi::PyImport_GetModuleDict()) };
    let here = modules.as_ptr();
    match HOME.compare_exchange(ptr::null_mut(), here, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => {
            // For good.
            let _ = modules.into_ptr();
            Ok(())
        }
        Err(home) if ptr::eq(home, here) => Ok(()),
        Err(_) => Err(PyImportError::new_err(
            "classes of tensors live in the interpreter that was first to import them; use \
             processes in place of subinterpreters",
        )),
    }
}
