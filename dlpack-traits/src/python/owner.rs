//! A Python object as the owner of an export: [`PyOwner`].

use core::fmt;
use core::mem::ManuallyDrop;

use pyo3::{PyClass, PyRef, ffi};

use super::convert::try_attach;
use crate::error::Error;
use crate::export::DLPackExport;
use crate::stream::StreamArg;
use crate::view::TensorView;

/// A Python object, borrowed until it is dropped, so that its `&mut` methods
/// fail meanwhile.
///
/// It may be dropped on any thread, attached or not. Once the interpreter has
/// begun to finalise, the reference is leaked: there is nobody left to give it
/// back to.
pub(super) struct PyOwner<T: PyClass>(ManuallyDrop<PyRef<'static, T>>);

// SAFETY: what crosses threads is a reference to the object, whose `T` is
// `Sync` (read through `tensor` and `hand_off`) and `Send` (dropped where its
// last reference dies); the count is only touched while attached, in `drop`.
// An object of an `unsendable` subclass checks its own thread when it dies, as
// wherever else Python drops it.
unsafe impl<T: PyClass + Send + Sync> Send for PyOwner<T> {}

impl<T: PyClass> PyOwner<T> {
    /// Takes a reference whose lifetime is that of its count, not that of the
    /// thread's attachment, which is over long before.
    pub(super) fn new(object: PyRef<'static, T>) -> Self {
        Self(ManuallyDrop::new(object))
    }
}

impl<T: PyClass> Drop for PyOwner<T> {
    fn drop(&mut self) {
        // SAFETY: may be called at any time, by any thread.
        if unsafe { ffi::Py_IsInitialized() } == 0 {
            return;
        }
        // Refused while the interpreter finalises, and inside a `__traverse__`,
        // where the collector must not see counts change.
        let released = try_attach(|| {
            // SAFETY: the thread is attached, and nothing uses the reference
            // after this.
            unsafe { ManuallyDrop::drop(&mut self.0) }
        });
        // A reference that cannot be given back is leaked.
        let _ = released;
    }
}

/// What the object exports, for readers or shared writers: an object that
/// Python still sees is never lent exclusively.
impl<T: PyClass + DLPackExport> DLPackExport for PyOwner<T> {
    fn tensor(&self) -> Result<TensorView<'_>, Error> {
        T::tensor(&self.0)
    }

    fn hand_off(&self, consumer: StreamArg<'_>) -> Result<(), Error> {
        T::hand_off(&self.0, consumer)
    }
}

impl<T: PyClass> fmt::Debug for PyOwner<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PyOwner")
    }
}
