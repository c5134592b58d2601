//! A Python object as the owner of an export: [`PyOwner`].

use core::fmt;
use core::mem::ManuallyDrop;

use pyo3::ffi;

use super::convert::try_attach;
use super::ending::Attaching;
use super::object::Object;
use super::symbols::is_attached;
use crate::describe::{Describe, Description};
use crate::error::Error;
use crate::export::DLPackExport;
use crate::stream::StreamArg;

/// A Python object, borrowed until it is dropped, so that its `&mut` methods
/// fail meanwhile.
///
/// It may be dropped on any thread, attached or not. Once the interpreter has
/// begun to finalise, the reference is leaked: there is nobody left to give it
/// back to. The interpreter waits for drops that have begun by then ([`Attaching`]).
pub(super) struct PyOwner(ManuallyDrop<Object>);

// SAFETY: what crosses threads is a reference to the object, whose value is
// `Sync` (read through `describe` and `sync_for`) and `Send` (dropped where its
// last reference dies), as every `Value` is; the count is only touched while
// attached, in `drop`.
// An object of an `unsendable` subclass checks its own thread when it dies, as
// wherever else Python drops it.
unsafe impl Send for PyOwner {}

impl PyOwner {
    /// Takes a reference whose lifetime is that of its count, not that of the
    /// thread's attachment, which is over long before.
    pub(super) fn new(object: Object) -> Self {
        Self(ManuallyDrop::new(object))
    }
}

impl Drop for PyOwner {
    fn drop(&mut self) {
        // SAFETY: may be called at any time, by any thread.
        if unsafe { ffi::Py_IsInitialized() } == 0 {
            return;
        }
        // A thread that is attached stays that while the interpreter ends. Another one
        // attaches only as long as the interpreter waits for it.
        let _attaching = if is_attached() {
            None
        } else {
            let Some(attaching) = Attaching::begin() else { return };
            Some(attaching)
        };
        // Not left to PyO3: it takes a thread for attached that it attached
        // itself, also when other code on it has detached since.
        // SAFETY: the interpreter is initialised. A thread that comes here
        // while it finalises is parked by PyO3's wrapper of this function.
        let state = unsafe { ffi::PyGILState_Ensure() };
        // PyO3 refuses inside a `__traverse__`, where the collector must not
        // see counts change. The reference is leaked then.
        let _ = try_attach(|| {
            // SAFETY: the thread is attached, and nothing uses the reference
            // after this.
            unsafe { ManuallyDrop::drop(&mut self.0) }
        });
        // SAFETY: `state` is what the matching call returned, on this thread.
        unsafe { ffi::PyGILState_Release(state) };
    }
}

/// What the object exports, for readers or shared writers: an object that
/// Python still sees is never lent exclusively.
impl DLPackExport for PyOwner {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        self.0.value().describe(out)
    }

    fn sync_for(&self, consumer: StreamArg<'_>) -> Result<(), Error> {
        self.0.value().sync_for(consumer)
    }
}

impl fmt::Debug for PyOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PyOwner")
    }
}
