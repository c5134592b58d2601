//! Drops values that belong to Python on any thread: [`DropAttached`].

use core::mem::ManuallyDrop;
use core::ops::Deref;

use pyo3::ffi;

use crate::python::convert::try_attach;
use crate::python::interpreter::exit::Attaching;
use crate::python::interpreter::pending_exception::SavedError;
use crate::python::interpreter::symbols::is_attached;

/// A value that holds references to Python objects, and attaches to the interpreter when it
/// is dropped.
///
/// It may be dropped on any thread, attached or not. Once the interpreter has begun to
/// finalize, the value is leaked, because references can no longer be released. The
/// interpreter waits for drops that have begun by then ([`Attaching`]).
pub(in crate::python) struct DropAttached<T>(ManuallyDrop<T>);

impl<T> DropAttached<T> {
    pub(in crate::python) const fn new(value: T) -> Self {
        Self(ManuallyDrop::new(value))
    }

    /// Drops the value on an attached thread. Its destructors may run any code, so a pending
    /// exception is set aside, and one that they leave is reported as unraisable.
    ///
    /// PyO3 does not attach inside a `__traverse__`, where the garbage collector must not see
    /// reference counts change. The value is leaked then.
    fn drop_here(&mut self) {
        let _ = try_attach(|py| {
            let pending = SavedError::set_aside(py);
            // SAFETY: only `drop` calls this, once, and the value is not used after that.
            unsafe { ManuallyDrop::drop(&mut self.0) };
            pending.restore(py);
        });
    }

    /// Drops the value on a thread that is not attached, unless the interpreter finalizes.
    #[cold]
    #[inline(never)]
    fn attach_and_drop(&mut self) {
        // A thread may attach only while the interpreter waits for it.
        let Some(_attaching) = Attaching::begin() else { return };
        // SAFETY: the interpreter is initialized. PyO3's wrapper of this function parks a
        // thread that calls it while the interpreter finalizes.
        let state = unsafe { ffi::PyGILState_Ensure() };
        self.drop_here();
        // SAFETY: `state` is what the matching call returned, on this thread.
        unsafe { ffi::PyGILState_Release(state) };
    }
}

impl<T> Deref for DropAttached<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> Drop for DropAttached<T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: any thread may call it at any time.
        if unsafe { ffi::Py_IsInitialized() } == 0 {
            return;
        }
        // A thread that is attached stays attached while the interpreter finalizes. This does
        // not rely on PyO3's own state: PyO3 treats a thread that it attached itself as
        // attached, even if other code on the thread has detached since.
        if is_attached() { self.drop_here() } else { self.attach_and_drop() }
    }
}
