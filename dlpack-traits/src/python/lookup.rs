//! The exchange table of a Python type: [`peer_of`].

use core::ptr;

use pyo3::exceptions::PyAttributeError;
use pyo3::ffi as py_ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyString, PyType};

use super::convert::quietly;
use super::peer::{Export, Peer};
use super::remembered::{Known, Remembered};
use crate::ffi::DLPackExchangeAPIHeader;

/// Name of the capsule that holds a table.
const CAPSULE: &core::ffi::CStr = c"dlpack_exchange_api";

/// Each type in it is kept alive, so no other type ever has its address while it
/// is there, and so is what holds its table.
///
/// Interpreters that share a GIL share it too; those that do not cannot import
/// the module.
static REMEMBERED: Remembered = Remembered::new();

/// The table of a type, its own or an inherited one, if it has one that we can read.
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
fn look_up(class: &Bound<'_, PyType>) -> PyResult<*mut DLPackExchangeAPIHeader> {
    let py = class.py();
    let found = find(class)?;
    let table = found.as_ref().and_then(table_in).unwrap_or(ptr::null_mut());
    let keeper = found.map_or(ptr::null_mut(), Bound::into_ptr);
    let class = class.clone().into_ptr();
    let old = REMEMBERED.put(Known { class: class.cast(), table, keeper: keeper.cast() });
    if let Some(Known { class, keeper, .. }) = old {
        // SAFETY: both are references of ours, made above at some time.
        let _class = unsafe { Bound::from_owned_ptr(py, class.cast()) };
        // SAFETY: as above.
        let _keeper = unsafe { Bound::from_owned_ptr_or_opt(py, keeper.cast()) };
    }
    Ok(table)
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

/// What a capsule of the right name holds; nothing for any other object.
fn table_in(object: &Bound<'_, PyAny>) -> Option<*mut DLPackExchangeAPIHeader> {
    // SAFETY: this thread is attached, and the object is alive.
    if unsafe { py_ffi::PyCapsule_IsValid(object.as_ptr(), CAPSULE.as_ptr()) } == 0 {
        return None;
    }
    // SAFETY: the capsule is valid under this name.
    let table = unsafe { py_ffi::PyCapsule_GetPointer(object.as_ptr(), CAPSULE.as_ptr()) };
    Some(table.cast())
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
