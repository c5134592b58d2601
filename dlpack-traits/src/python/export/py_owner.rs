//! A Python object as the owner of an export: [`PyOwner`], [`export_owned_object`].

use core::fmt;
use core::mem::ManuallyDrop;

use pyo3::{Borrowed, PyAny, PyErr, ffi};

use crate::describe::{Describe, Description};
use crate::error::Error;
use crate::exchange::{TableError, store_error};
use crate::export::{DLPackExport, export_owned};
use crate::managed::RawManaged;
use crate::python::convert::try_attach;
use crate::python::export::erased_ref::{ClassVTable, ErasedRef};
use crate::python::interpreter::exit::Attaching;
use crate::python::interpreter::symbols::is_attached;
use crate::stream::StreamArg;

/// The owner of an export that holds a reference to a Python object and a shared borrow
/// of it. Until it is dropped, `&mut` methods of the object fail.
///
/// It may be dropped on any thread, attached or not. Once the interpreter has begun to
/// finalise, the reference is leaked, because it can no longer be decremented. The
/// interpreter waits for drops that have begun by then ([`Attaching`]).
pub(in crate::python) struct PyOwner(ManuallyDrop<ErasedRef>);

// SAFETY: what crosses threads is a reference to the object, whose value is `Sync` (read
// through `describe` and `sync_for`) and `Send` (dropped where its last reference is
// dropped), as every `DynExport` is; the reference count is only changed while attached, in
// `drop`. An object of an `unsendable` subclass checks its own thread when it is dropped,
// as wherever else Python drops it.
unsafe impl Send for PyOwner {}

impl PyOwner {
    /// Takes a reference whose lifetime is that of its reference count, not that of the
    /// thread's attachment, which ends long before.
    pub(in crate::python) fn new(object: ErasedRef) -> Self {
        Self(ManuallyDrop::new(object))
    }
}

impl Drop for PyOwner {
    fn drop(&mut self) {
        // SAFETY: any thread may call it at any time.
        if unsafe { ffi::Py_IsInitialized() } == 0 {
            return;
        }
        // A thread that is attached stays attached while the interpreter finalises.
        // Another thread may attach only while the interpreter waits for it.
        let _attaching = if is_attached() {
            None
        } else {
            let Some(attaching) = Attaching::begin() else { return };
            Some(attaching)
        };
        // This does not rely on PyO3's own state: PyO3 treats a thread that it attached
        // itself as attached, even if other code on the thread has detached since.
        // SAFETY: the interpreter is initialised. PyO3's wrapper of this function parks a
        // thread that calls it while the interpreter finalises.
        let state = unsafe { ffi::PyGILState_Ensure() };
        // PyO3 does not attach inside a `__traverse__`, where the garbage collector must
        // not see reference counts change. The reference is leaked then.
        let _ = try_attach(|| {
            // SAFETY: the thread is attached, and nothing uses the reference
            // after this.
            unsafe { ManuallyDrop::drop(&mut self.0) }
        });
        // SAFETY: `state` is what the matching call returned, on this thread.
        unsafe { ffi::PyGILState_Release(state) };
    }
}

/// Describes the tensor of the object, for readers or shared writers: an object that
/// Python still references is never borrowed exclusively.
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

/// Exports the tensor of an object with the Python object as the owner, if
/// [`ClassVTable::export_shared_object`] stored `NotShareable`.
#[cold]
#[inline(never)]
pub(in crate::python) fn export_owned_object(
    class: &'static ClassVTable,
    object: Borrowed<'_, 'static, PyAny>,
    consumer: StreamArg<'_>,
    refused: &mut Option<TableError<PyErr>>,
) -> Option<RawManaged> {
    if !matches!(refused, Some(TableError::Tensor(Error::NotShareable))) {
        return None;
    }
    let object = (class.borrow)(object).map_err(TableError::Host);
    let owned = object.and_then(|object| Ok(export_owned(PyOwner::new(object), consumer)?));
    owned.map(RawManaged::from).map_err(|fault| store_error(refused, fault)).ok()
}
