//! Creates objects of a class from tensors by its exchange table: [`Maker`].
//!
//! The standard does not say who owns a tensor when the function fails. Tables of this crate leave
//! it to the caller, so they get the tensor itself. Other tables get a [`Relay`], which is lost if
//! the function fails and does not call its deleter. PyTorch's does not, and does not use the
//! tensor later.

use core::ffi::{c_int, c_void};
use core::ptr::{self, NonNull};

use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::exchange::foreign_table::{Outcome, WrapFunction};
use crate::exchange::relay::Relay;
use crate::ffi::DLManagedTensorVersioned;
use crate::import::ImportedTensor;
use crate::managed::{ManagedStruct, ManagedTensor};
use crate::python::table::calls::{failed, outcome};
use crate::python::table::lookup::{self, facts_of_type, read};
use crate::python::table::type_cache::{Makes, Table, TypeFacts};

/// How many relays of a table may be lost, each of 112 bytes. After that its class is treated as
/// one without a table: the `from_dlpack` of its library makes the objects, if there is one.
const MOST_LOST: u8 = 16;

/// The function of an exchange table that creates objects of a class.
#[derive(Clone, Copy, Debug)]
pub(in crate::python) struct Maker {
    function: WrapFunction,
    table: Table,
    library: Library,
}

/// The library that made a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Library {
    Ours,
    PyTorch,
    Other,
}

/// A tensor for [`Maker::make`], which releases it or gives it away: a valid struct of major
/// version 1, whose deleter is called once.
#[must_use = "the tensor leaks unless an object is made of it"]
pub(in crate::python) struct GivenTensor(NonNull<DLManagedTensorVersioned>);

impl GivenTensor {
    /// Takes a tensor out of the value that imported it; `None` for a tensor in a legacy
    /// struct, and for one without a struct.
    pub(in crate::python) fn of_import(tensor: ImportedTensor) -> Option<Self> {
        NonNull::new(tensor.into_raw().ok()?).map(Self)
    }
}

impl From<ManagedTensor> for GivenTensor {
    fn from(tensor: ManagedTensor) -> Self {
        match NonNull::new(tensor.into_raw()) {
            Some(tensor) => Self(tensor),
            None => unreachable!("a managed tensor is not NULL"),
        }
    }
}

impl Maker {
    /// Returns the function for a class; `None` if its table has none, makes no objects, or has
    /// refused too often.
    ///
    /// # Errors
    ///
    /// Those of [`foreign_table_of`](super::lookup::foreign_table_of).
    pub(in crate::python) fn of(class: &Bound<'_, PyType>) -> PyResult<Option<Self>> {
        // Only PyTorch has lazy bits.
        let TypeFacts { table, has_lazy_bits: is_pytorch, .. } = facts_of_type(class)?;
        let Some(function) = read(table).and_then(|table| table.wrap) else { return Ok(None) };
        let library = match lookup::makes(table) {
            Makes::Nothing | Makes::Foreign(MOST_LOST..) => return Ok(None),
            Makes::Ours => Library::Ours,
            Makes::Foreign(_) if is_pytorch => Library::PyTorch,
            Makes::Foreign(_) => Library::Other,
        };
        Ok(Some(Self { function, table, library }))
    }

    /// Whether the class has a table of this crate that makes no objects.
    pub(in crate::python) fn is_missing_in_ours(class: &Bound<'_, PyType>) -> bool {
        matches!(facts_of_type(class), Ok(facts) if lookup::makes(facts.table) == Makes::Nothing)
    }

    /// Whether this crate made the table.
    pub(in crate::python) fn is_ours(self) -> bool {
        self.library == Library::Ours
    }

    /// Creates an object from a tensor. On failure the tensor is released.
    ///
    /// # Errors
    ///
    /// What the function raised; `BufferError` if it failed without an exception.
    pub(in crate::python) fn make(
        self,
        py: Python<'_>,
        GivenTensor(tensor): GivenTensor,
    ) -> PyResult<Bound<'_, PyAny>> {
        // The outer error means that the function failed, and may not have taken the tensor;
        // the inner error, that an object owns the tensor.
        let call = |tensor| -> PyResult<PyResult<_>> {
            let mut object = ptr::null_mut();
            // SAFETY: the function is from a table. It takes ownership of the tensor, and the
            // result may be written.
            let status = unsafe { self.function.get()(tensor, &raw mut object) };
            object_of(py, status, object)
        };
        if self.library == Library::Ours {
            let made = call(tensor.as_ptr());
            if made.is_err() {
                // SAFETY: 1 (the struct is valid) and 2 (its deleter may be called): by its type,
                // `tensor` is such a struct, and a table of this crate returns it after a failure,
                // perhaps with another deleter.
                drop(unsafe { ManagedStruct::release_of(tensor) });
            }
            return made?;
        }
        // SAFETY: 1 (the struct is valid, its deleter may be called once): by its type, `tensor`
        // is such a struct. 2. The library that made the table is trusted to call a deleter once.
        // 3. PyTorch's function is trusted to forget a tensor that it does not take.
        let sent = unsafe { Relay::send(tensor, self.library == Library::PyTorch, call) };
        if sent.is_lost {
            lookup::set_makes(self.table, |makes| match makes {
                Makes::Foreign(lost) => Makes::Foreign(lost.saturating_add(1)),
                ours => ours,
            });
        }
        sent.result?
    }
}

/// Interprets the result of the function.
fn object_of(
    py: Python<'_>,
    status: c_int,
    object: *mut c_void,
) -> PyResult<PyResult<Bound<'_, PyAny>>> {
    let raised = match outcome(py, status, !object.is_null()) {
        Outcome::Done => None,
        Outcome::RaisedWithResult => Some(PyErr::fetch(py)),
        failure => return Err(failed(py, failure, "managed_tensor_to_py_object_no_sync")),
    };
    // SAFETY: this thread is attached, and this function owns the reference, which is not
    // NULL in these outcomes.
    let object = unsafe { Bound::from_owned_ptr(py, object.cast()) };
    Ok(raised.map_or(Ok(object), Err))
}
