//! Drops values that belong to Python on any thread: [`DropAttached`], and calls the deleters of
//! imported tensors: [`adopt`], [`release`].

use core::ops::Deref;

use pyo3::ffi;
use pyo3::prelude::*;

use crate::import::{ImportPolicy, ImportedTensor};
use crate::managed::{Abi, Release};
use crate::python::convert::{invalid, try_attach};
use crate::python::interpreter::deferred_drop;
use crate::python::interpreter::exit::Attaching;
use crate::python::interpreter::pending_exception::{SavedError, preserve_exception};
use crate::python::interpreter::symbols::is_attached;

/// A value that holds references to Python objects, and is dropped on an attached thread.
///
/// It may be dropped on any thread. A thread of Python that is detached attaches; one that Python
/// does not know leaves the value to another thread ([`deferred_drop`]). Once the interpreter has begun to finalize, the value is leaked, because
/// references can no longer be released.
pub(in crate::python) struct DropAttached<T: 'static>(
    /// `None` once it was dropped.
    Option<T>,
);

impl<T: 'static> DropAttached<T> {
    pub(in crate::python) const fn new(value: T) -> Self {
        Self(Some(value))
    }

    /// Drops the value on an attached thread. Its destructors may run any code, so a pending
    /// exception is set aside, and one that they leave is reported as unraisable.
    ///
    /// PyO3 does not attach inside a `__traverse__`, where the garbage collector must not see
    /// reference counts change. The value is leaked then.
    fn drop_here(&mut self) {
        let _ = try_attach(|py| {
            let pending = SavedError::set_aside(py);
            drop(self.0.take());
            pending.restore(py);
        });
        core::mem::forget(self.0.take());
    }

    /// Attaches a thread of Python that is detached, unless the interpreter finalizes.
    #[cold]
    #[inline(never)]
    fn attach_and_drop(&mut self) {
        let Some(_attaching) = Attaching::begin() else {
            return core::mem::forget(self.0.take());
        };
        // SAFETY: the interpreter is initialized, and waits for this thread before it ends.
        let state = unsafe { ffi::PyGILState_Ensure() };
        self.drop_here();
        // SAFETY: `state` is what the matching call returned, on this thread.
        unsafe { ffi::PyGILState_Release(state) };
    }

    /// Leaves the drop to an attached thread, unless the interpreter finalizes.
    #[cold]
    #[inline(never)]
    fn defer(&mut self) {
        /// The value, which an attached thread drops.
        struct Deferred<T>(T);
        // SAFETY: the value crosses threads as it does in a `DropAttached`: references, which only
        // attached threads drop.
        unsafe impl<T> Send for Deferred<T> {}

        let value = self.0.take().map(Deferred);
        match Attaching::begin() {
            Some(_attaching) => deferred_drop::defer(value),
            None => core::mem::forget(value),
        }
    }
}

impl<T: 'static> Deref for DropAttached<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        match &self.0 {
            Some(value) => value,
            None => unreachable!("the value is dropped with the `DropAttached`"),
        }
    }
}

impl<T: 'static> Drop for DropAttached<T> {
    #[inline]
    fn drop(&mut self) {
        if !is_initialized() {
            return core::mem::forget(self.0.take());
        }
        // A thread that is attached stays attached while the interpreter finalizes. This does
        // not rely on PyO3's own state: PyO3 treats a thread that it attached itself as
        // attached, even if other code on the thread has detached since.
        if is_attached() {
            return self.drop_here();
        }
        // Its own section without the GIL has to end with a wait for the GIL anyway: PyTorch
        // frees memory in such a section, and the next statement may change the object.
        if has_thread_state() {
            return self.attach_and_drop();
        }
        self.defer();
    }
}

/// Imports a tensor whose producer is in Python.
///
/// # Errors
///
/// Those of [`ImportedTensor::from_raw`].
///
/// # Safety
///
/// 1. As for [`ImportedTensor::from_raw`].
#[inline(always)]
pub(in crate::python) unsafe fn adopt<A: Abi>(
    managed: *mut A,
    policy: ImportPolicy,
) -> PyResult<ImportedTensor> {
    // SAFETY: 1 (`managed` is valid): guaranteed by our caller's 1.
    let taken = unsafe { ImportedTensor::guarded(managed, policy, Some(release)) };
    taken.map_err(invalid)
}

/// Calls the deleter of a tensor that was imported from Python, on this thread if it is attached.
///
/// The deleter may wait for the GIL, also that of a tensor whose producer is not Python. Once the
/// interpreter has begun to finalize it is called at once, because it may not need to attach.
pub(in crate::python) fn release(release: Release) {
    if is_attached() {
        let mut release = Some(release);
        return preserve_exception(&mut || drop(release.take()));
    }
    match Attaching::begin() {
        Some(_attaching) if is_initialized() => deferred_drop::defer(release),
        _ => drop(release),
    }
}

/// Whether Python has a state for this thread, which is then detached for a while: the main thread, or
/// one that Python created.
#[cold]
fn has_thread_state() -> bool {
    // SAFETY: any thread may call it while there is an interpreter, which the caller has checked.
    !unsafe { ffi::PyGILState_GetThisThreadState() }.is_null()
}

/// Whether there is an interpreter. Any thread may call it at any time.
fn is_initialized() -> bool {
    // SAFETY: any thread may call it at any time.
    unsafe { ffi::Py_IsInitialized() != 0 }
}
