//! The exchange table in a capsule, and the class that it belongs to: [`owner_of`].
//!
//! A table is an attribute, and Python code can copy an attribute to another class. The
//! functions of a table read the objects of its class without a check, so they must not
//! be called with objects of the other one. The standard has no way to tell whose a table
//! is; so it is used only where no unrelated class has the same one.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::ffi::c_void;

use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};

use super::convert::answer;
use crate::exchange::CAPSULE;
use crate::ffi::DLPackExchangeAPIHeader;

/// The address of a table.
pub(super) type Table = *mut DLPackExchangeAPIHeader;

/// The table that a capsule of the right name holds; `None` for any other object.
pub(super) fn table_in(object: &Bound<'_, PyAny>) -> Option<Table> {
    // SAFETY: this thread is attached, and the object is alive.
    if unsafe { ffi::PyCapsule_IsValid(object.as_ptr(), CAPSULE.as_ptr()) } == 0 {
        return None;
    }
    // SAFETY: the capsule is valid under this name.
    let table = unsafe { ffi::PyCapsule_GetPointer(object.as_ptr(), CAPSULE.as_ptr()) };
    Some(table.cast())
}

/// The class to which a table belongs that was found on `class`: a class of its method
/// resolution order, or `None` if the table may belong to an unrelated class.
///
/// `known` are the classes for which the table was found or published before. If there are
/// none, it is the last class of the order that has the table as an attribute of its
/// own. If Python code can set attributes of that class, then all classes of the process
/// are searched for an unrelated one with this table. That takes 0.6 us for each class,
/// once for each table.
///
/// # Errors
///
/// Exceptions of code that the search runs, if they are not an `Exception`, such as
/// `KeyboardInterrupt`: keys of a class may compare themselves.
pub(super) fn owner_of<'py>(
    class: &Bound<'py, PyType>,
    table: Table,
    known: &[*mut c_void],
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let classes = Classes::of(class.py())?;
    let order = classes.order(class)?;
    if !known.is_empty() {
        return Ok(order.iter().find(|base| known.contains(&base.as_ptr().cast())));
    }
    let mut owner = None;
    for base in &order {
        if classes.has(&base, table)? {
            owner = Some(base);
        }
    }
    match owner {
        Some(owner) if !is_immutable(&owner) && classes.is_shared(&owner, table)? => Ok(None),
        owner => Ok(owner),
    }
}

/// Whether Python code cannot set attributes of a class: one that was made in C, as a
/// static type or with this flag.
fn is_immutable(class: &Bound<'_, PyAny>) -> bool {
    /// `Py_TPFLAGS_IMMUTABLETYPE`, since 3.10.
    const IMMUTABLE: core::ffi::c_ulong = 1 << 8;
    // SAFETY: this thread is attached. A method resolution order holds types only, which
    // CPython checks when it makes a class.
    unsafe { ffi::PyType_GetFlags(class.as_ptr().cast()) & IMMUTABLE != 0 }
}

/// Descriptors of `type`, which read the attributes of any class from the interpreter's
/// own struct. A metaclass can override what `class.__mro__` returns, but not these.
struct Classes<'py> {
    attributes: Bound<'py, PyAny>,
    order: Bound<'py, PyAny>,
    subclasses: Bound<'py, PyAny>,
}

impl<'py> Classes<'py> {
    fn of(py: Python<'py>) -> PyResult<Self> {
        let own = py.get_type::<PyType>().getattr(intern!(py, "__dict__"))?;
        Ok(Self {
            attributes: own.get_item(intern!(py, "__dict__"))?,
            order: own.get_item(intern!(py, "__mro__"))?,
            subclasses: own.get_item(intern!(py, "__subclasses__"))?,
        })
    }

    /// The method resolution order of a class.
    fn order(&self, class: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
        let order = self.order.call_method1(intern!(class.py(), "__get__"), (class,))?;
        Ok(order.extract()?)
    }

    /// Whether a table is among the attributes of a class itself, under either name.
    ///
    /// # Errors
    ///
    /// As for [`owner_of`].
    fn has(&self, class: &Bound<'py, PyAny>, table: Table) -> PyResult<bool> {
        let py = class.py();
        let read = || -> PyResult<bool> {
            let own = self.attributes.call_method1(intern!(py, "__get__"), (class,))?;
            for name in
                [intern!(py, "__dlpack_c_exchange_api__"), intern!(py, "__c_dlpack_exchange_api__")]
            {
                if own.contains(name)? && table_in(&own.get_item(name)?) == Some(table) {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        Ok(answer(py, read())?.unwrap_or(false))
    }

    /// Whether a class that does not inherit from `owner` has its table too.
    ///
    /// # Errors
    ///
    /// As for [`owner_of`].
    fn is_shared(&self, owner: &Bound<'py, PyAny>, table: Table) -> PyResult<bool> {
        let py = owner.py();
        let mut seen = BTreeSet::new();
        let mut left = Vec::from([py.get_type::<PyAny>().into_any()]);
        while let Some(class) = left.pop() {
            if !seen.insert(class.as_ptr().addr()) {
                continue;
            }
            if self.has(&class, table)? && !self.order(&class)?.contains(owner)? {
                return Ok(true);
            }
            let below = self.subclasses.call1((&class,))?;
            left.extend(below.extract::<Vec<Bound<'py, PyAny>>>()?);
        }
        Ok(false)
    }
}
