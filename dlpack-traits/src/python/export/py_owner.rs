//! A Python object as the owner of an export: [`PyOwner`], [`export_owned_object`].

use core::fmt;

use pyo3::{Borrowed, PyAny, PyErr};

use crate::describe::{Describe, Description};
use crate::error::Error;
use crate::exchange::{TableError, store_error};
use crate::export::{DLPackExport, export_owned};
use crate::managed::RawManaged;
use crate::python::export::erased_ref::{ClassVTable, ErasedRef};
use crate::python::interpreter::drop_attached::DropAttached;
use crate::stream::StreamArg;

/// The owner of an export that holds a reference to a Python object and a shared borrow
/// of it. Until it is dropped, `&mut` methods of the object fail.
///
/// It may be dropped on any thread: [`DropAttached`].
pub(in crate::python) struct PyOwner(DropAttached<ErasedRef>);

// SAFETY: what crosses threads is a reference to the object, whose value is `Sync` (read
// through `describe` and `sync_for`) and `Send` (dropped where its last reference is
// dropped), as every `DynExport` is; the reference count is only changed while attached, by
// `DropAttached`. An object of an `unsendable` subclass checks its own thread when it is
// dropped, as wherever else Python drops it.
unsafe impl Send for PyOwner {}

impl PyOwner {
    /// Takes a reference whose lifetime is that of its reference count, not that of the
    /// thread's attachment, which ends long before.
    pub(in crate::python) fn new(object: ErasedRef) -> Self {
        Self(DropAttached::new(object))
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
