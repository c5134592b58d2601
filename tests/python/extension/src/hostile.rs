//! Owners whose drop misbehaves.

use std::sync::Arc;

use dlpack_traits::{DLPackExport, DataRef, Storage};
use pyo3::ffi;
use pyo3::prelude::*;

use crate::counted::Counted;

/// A tensor whose memory panics when it is dropped.
#[pyclass(frozen, module = "dlpack_testing")]
#[derive(DLPackExport)]
pub(crate) struct PanicsOnDrop {
    data: Arc<Panics>,
    shape: [i64; 1],
}

struct Panics(Counted<Vec<f32>>);

impl Drop for Panics {
    fn drop(&mut self) {
        panic!("a drop panics on purpose");
    }
}

impl Storage for Panics {
    fn data(&self) -> DataRef<'_> {
        self.0.data()
    }
}

#[pymethods]
impl PanicsOnDrop {
    #[new]
    fn new() -> Self {
        Self { data: Arc::new(Panics(Counted::new(vec![0.0; 4]))), shape: [4] }
    }
}

/// A tensor whose memory runs Python code when it is dropped, and leaves the raised
/// exception set.
#[pyclass(frozen, module = "dlpack_testing")]
#[derive(DLPackExport)]
pub(crate) struct CallsOnDrop {
    data: Arc<Calls>,
    shape: [i64; 1],
}

struct Calls {
    memory: Counted<Vec<f32>>,
    callable: *mut ffi::PyObject,
}

// SAFETY: the object is only touched while attached, in `drop`.
unsafe impl Send for Calls {}
// SAFETY: as above.
unsafe impl Sync for Calls {}

impl Drop for Calls {
    fn drop(&mut self) {
        // SAFETY: may be called at any time.
        if unsafe { ffi::Py_IsInitialized() } == 0 {
            return;
        }
        // SAFETY: the interpreter is initialized.
        let state = unsafe { ffi::PyGILState_Ensure() };
        // SAFETY: this thread is attached, and `callable` is a reference that we own.
        let result = unsafe { ffi::PyObject_CallObject(self.callable, core::ptr::null_mut()) };
        // SAFETY: this thread is attached, and we own the result, or it is NULL.
        unsafe { ffi::Py_XDECREF(result) };
        // SAFETY: this thread is attached, and this is the end of our reference.
        unsafe { ffi::Py_DECREF(self.callable) };
        // SAFETY: `state` was returned by the matching call on this thread.
        unsafe { ffi::PyGILState_Release(state) };
    }
}

impl Storage for Calls {
    fn data(&self) -> DataRef<'_> {
        self.memory.data()
    }
}

#[pymethods]
impl CallsOnDrop {
    #[new]
    fn new(callable: Bound<'_, PyAny>) -> Self {
        let memory = Counted::new(vec![0.0; 4]);
        Self { data: Arc::new(Calls { memory, callable: callable.into_ptr() }), shape: [4] }
    }
}
