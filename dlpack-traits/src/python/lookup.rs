//! The exchange table of a Python type: [`peer_of`].

use pyo3::exceptions::PyAttributeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyString, PyTuple, PyType};

use super::convert::quietly;
use super::peer::{Export, Peer};
use super::remembered::{Known, Remembered};
use super::table_owner::{Table, owner_of, table_in};

/// Each type in it is kept alive, so no other type ever has its address while it
/// is there, and so are the capsule of its table and the class to which that belongs.
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
    if let Some(capsule) = find(class)? {
        if let Some(table) = table_in(&capsule) {
            if let Some(owner) = owner_of(class, table, &REMEMBERED.owners_of(table))? {
                let keeper = PyTuple::new(class.py(), [&capsule, &owner])?;
                let (owner, keeper) = (owner.as_ptr().cast(), keeper.into_ptr().cast());
                remember(class, Known { table, owner, keeper, ..Known::NONE });
                return Ok(table);
            }
        }
    }
    remember(class, Known::NONE);
    Ok(Known::NONE.table)
}

/// Remembers that a table belongs to a class, because this crate published it there. Code
/// that copies the attribute to another class then takes nothing from this one.
///
/// # Errors
///
/// `MemoryError`.
pub(super) fn remember_own(class: &Bound<'_, PyType>, capsule: &Bound<'_, PyAny>) -> PyResult<()> {
    let Some(table) = table_in(capsule) else { return Ok(()) };
    let keeper = PyTuple::new(class.py(), [capsule, class.as_any()])?;
    let (owner, keeper) = (class.as_ptr().cast(), keeper.into_ptr().cast());
    remember(class, Known { table, owner, keeper, ..Known::NONE });
    Ok(())
}

/// Remembers what was found for a class. The reference `keeper` is given away.
fn remember(class: &Bound<'_, PyType>, new: Known) {
    let py = class.py();
    let class = class.clone().into_ptr().cast();
    if let Some(Known { class, keeper, .. }) = REMEMBERED.put(Known { class, ..new }) {
        // SAFETY: both are references of ours, made by some call of this function.
        let _class = unsafe { Bound::from_owned_ptr(py, class.cast()) };
        // SAFETY: as above.
        let _keeper = unsafe { Bound::from_owned_ptr_or_opt(py, keeper.cast()) };
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
