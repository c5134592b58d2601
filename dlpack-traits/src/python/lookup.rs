//! The exchange table of a Python type: [`peer_of`].

use core::ptr;

use pyo3::exceptions::PyAttributeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyString, PyType};

use super::convert::quietly;
use super::ending::watch;
use super::peer::{Export, Peer};
use super::remembered::{Added, Known, Remembered};
use super::table_owner::{Found, Table, owner_of, table_in};

/// Each type in it is kept alive, so no other type ever has its address while it
/// is there. Tables, and the classes to which they belong, are kept for good.
///
/// Interpreters that share a GIL share it too; those that do not cannot import
/// the module.
static REMEMBERED: Remembered = Remembered::new();

/// The table of a type, its own or an inherited one, if it has one that we can read and
/// that no unrelated class has too.
///
/// What was found, or that nothing was, is remembered, so a table that is added
/// to a type later may not be seen.
///
/// # Errors
///
/// What looking up the attribute raises, other than `AttributeError`.
#[inline]
pub(super) fn peer_of(class: &Bound<'_, PyType>) -> PyResult<Option<Peer>> {
    let table = match REMEMBERED.table_of(class.as_ptr().cast()) {
        Some(table) => table,
        None => look_up(class)?,
    };
    // SAFETY: 1. It came from a capsule whose name says that it holds a table.
    // The library that made it is trusted to have made it as the standard says,
    // for the life of the process.
    Ok(unsafe { Peer::read(table) })
}

/// The function that exports objects, of the table of an object's type.
///
/// # Errors
///
/// Those of [`peer_of`].
#[inline(always)]
pub(super) fn export_of(object: &Bound<'_, PyAny>) -> PyResult<Option<Export>> {
    // Only an address to compare: nothing is read of the type.
    let table = match REMEMBERED.table_of(object.get_type_ptr().cast()) {
        Some(table) => table,
        None => look_up(&object.get_type())?,
    };
    // SAFETY: 1. As in `peer_of`.
    Ok(unsafe { Peer::read(table) }.and_then(|peer| peer.export))
}

#[cold]
fn look_up(class: &Bound<'_, PyType>) -> PyResult<Table> {
    watch(class.py());
    if let Some(capsule) = find(class)? {
        if let Some(table) = table_in(&capsule) {
            let owner = owner_of(class, table, || REMEMBERED.owners_of(table))?;
            if owner.is_some_and(|(owner, found)| belongs_to(&capsule, table, &owner, found)) {
                remember(class, table);
                return Ok(table);
            }
        }
    }
    remember(class, ptr::null_mut());
    Ok(ptr::null_mut())
}

/// Remembers for good that a table belongs to a class. `false` if it belongs to another one.
fn belongs_to(
    capsule: &Bound<'_, PyAny>,
    table: Table,
    owner: &Bound<'_, PyAny>,
    found: Found,
) -> bool {
    let alone = found == Found::Alone;
    let added = REMEMBERED.add_owner(table, owner.as_ptr().cast(), alone);
    if added == Added::New {
        // The list has these references, so that no other class has this address, and no
        // other table that one.
        let _ = (capsule.clone().into_ptr(), owner.clone().into_ptr());
    }
    added != Added::Refused
}

/// Remembers that a table belongs to a class, because this crate published it there. Code
/// that copies the attribute to another class then takes nothing from this one.
pub(super) fn remember_own(class: &Bound<'_, PyType>, capsule: &Bound<'_, PyAny>) {
    let Some(table) = table_in(capsule) else { return };
    belongs_to(capsule, table, class, Found::Shared);
    remember(class, table);
}

/// Remembers what was found for a class.
fn remember(class: &Bound<'_, PyType>, table: Table) {
    let py = class.py();
    let class = class.clone().into_ptr().cast();
    if let Some(Known { class, .. }) = REMEMBERED.put(Known { class, table }) {
        // SAFETY: it is a reference of ours, made by some call of this function.
        drop(unsafe { Bound::from_owned_ptr(py, class.cast()) });
    }
}

/// Reads the attribute, which is looked up on the type: an object could say
/// anything about itself.
fn find<'py>(class: &Bound<'py, PyType>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = class.py();
    let new = attribute(class, intern!(py, "__dlpack_c_exchange_api__"))?;
    // Its name in 1.2, and an integer then. A type that has the new one says
    // with it all there is to say, `None` included.
    match new {
        None => attribute(class, intern!(py, "__c_dlpack_exchange_api__")),
        new => Ok(new),
    }
}

fn attribute<'py>(
    class: &Bound<'py, PyType>,
    name: &Bound<'py, PyString>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    match class.getattr(name) {
        Err(error) if error.is_instance_of::<PyAttributeError>(class.py()) => {
            Ok(quietly(class.py(), Err(error)))
        }
        found => found.map(Some),
    }
}

/// The table that a type published as the address of one, as types did before
/// 1.3, under either name.
///
/// # Safety
///
/// 1. If either attribute of the type is an integer, it is 0 or the address of
///    a table that lives as long as the process.
pub(super) unsafe fn peer_by_address(class: &Bound<'_, PyType>) -> PyResult<Option<Peer>> {
    let py = class.py();
    for name in [intern!(py, "__dlpack_c_exchange_api__"), intern!(py, "__c_dlpack_exchange_api__")]
    {
        let Some(found) = attribute(class, name)? else { continue };
        if found.is_exact_instance_of::<PyInt>() {
            let address = core::ptr::with_exposed_provenance_mut(found.extract::<usize>()?);
            // SAFETY: 1.
            return Ok(unsafe { Peer::read(address) });
        }
    }
    Ok(None)
}
