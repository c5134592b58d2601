//! Finds the class that an exchange table belongs to: [`owner_of`].
//!
//! A table is an attribute, and Python code can copy an attribute to another class. The
//! functions of a table read the objects of its class without a check, so calling them
//! with objects of another class is undefined behaviour. The standard does not define
//! which class a table belongs to. A table is therefore used only for a class to which
//! Python code cannot have copied it:
//!
//! - an immutable class, whose attributes only C code sets;
//! - a class whose attributes C code has copied to an immutable class.
//!   `torch.FloatTensor` and its siblings are such copies of `torch.Tensor`, and have its
//!   table;
//! - the only class of the process that has the table, apart from its subclasses.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyFunction, PyString, PyTuple, PyType};

use crate::exchange::CAPSULE;
use crate::python::capsule::pointer_named;
use crate::python::convert::ok_unless_exit;
use crate::python::table::type_cache::Table;

/// The attributes of a type with an exchange table: that of the standard, and its name in 1.2, when its
/// value was an integer.
pub(in crate::python) fn table_names(py: Python<'_>) -> [&Bound<'_, PyString>; 2] {
    [intern!(py, "__dlpack_c_exchange_api__"), intern!(py, "__c_dlpack_exchange_api__")]
}

/// Returns the table of a capsule with the right name; `None` for any other object.
pub(in crate::python) fn table_in(object: &Bound<'_, PyAny>) -> Option<Table> {
    Some(pointer_named(object, CAPSULE)?.cast().as_ptr())
}

/// Returns the class to which a table belongs that was found on `class`: a class of its
/// method resolution order, or `None` if the table may belong to an unrelated class.
///
/// `known` returns the addresses of the classes that are recorded as owners of the table,
/// because the table was found to belong to them or was published on them. It is called
/// after the method resolution order was read: the order keeps its classes alive, so
/// their addresses are not those of other classes. If the order contains a recorded
/// owner, that class is the owner. Otherwise the owner is the last class of the order
/// that has the table as an attribute of its own. If Python code can set attributes of
/// that class, all classes of the process are searched for others with this table. The
/// search takes 0.6 us per class, and runs once for each class that such an owner is.
///
/// # Errors
///
/// Exceptions of Python code that the search runs, if they are not an `Exception`, such
/// as `KeyboardInterrupt`: comparing the keys of a class's `__dict__` may run code.
pub(in crate::python) fn owner_of<'py>(
    class: &Bound<'py, PyType>,
    table: Table,
    known: impl FnOnce() -> Vec<usize>,
) -> PyResult<Option<(Bound<'py, PyAny>, Found)>> {
    let classes = Classes::of(class.py())?;
    let order = classes.order(class)?;
    let known = known();
    if let Some(owner) = order.iter().find(|base| known.contains(&base.as_ptr().addr())) {
        return Ok(Some((owner, Found::Shared)));
    }
    let mut owner = None;
    for base in &order {
        if classes.has(&base, table)? {
            owner = Some(base);
        }
    }
    let Some(owner) = owner else { return Ok(None) };
    if is_immutable(&owner) {
        return Ok(Some((owner, Found::Shared)));
    }
    Ok(match classes.others_with(&owner, table)? {
        Others::Copies => Some((owner, Found::Shared)),
        Others::None => Some((owner, Found::Alone)),
        Others::Unrelated => None,
    })
}

/// Returns an attribute of a class or of its bases. Reads their dictionaries, so that no code of a
/// metaclass or of a descriptor runs.
///
/// # Errors
///
/// As for [`owner_of`].
pub(in crate::python) fn own_attribute<'py>(
    class: &Bound<'py, PyType>,
    name: &str,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = class.py();
    let (classes, name) = (Classes::of(py)?, PyString::new(py, name));
    let read = || -> PyResult<Option<Bound<'py, PyAny>>> {
        for base in &classes.order(class)? {
            let found = classes.own(&base, &name)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    };
    Ok(ok_unless_exit(py, read())?.flatten())
}

/// Whether objects of a class pass on attributes of another object: by a `__getattr__`, by a
/// `__getattribute__` in Python, or as `weakref.proxy` does. Types of C code have a `__getattribute__`
/// whether they pass on attributes or not.
///
/// # Errors
///
/// Those of [`own_attribute`].
pub(in crate::python) fn passes_on(class: &Bound<'_, PyType>) -> PyResult<bool> {
    let py = class.py();
    if own_attribute(class, "__getattr__")?.is_some_and(|found| !found.is_none()) {
        return Ok(true);
    }
    let read = own_attribute(class, "__getattribute__")?;
    if read.is_some_and(|found| found.is_instance_of::<PyFunction>()) {
        return Ok(true);
    }
    // Always loaded, unlike `weakref`: a child process would wait for ever for a lock of its import, which
    // a thread of the parent held during the fork.
    let proxies = || py.import(intern!(py, "_weakref"));
    let is_proxy = proxies().and_then(|proxies| {
        let is = |name| Ok::<_, PyErr>(proxies.getattr(name)?.is(class));
        Ok(is(intern!(py, "ProxyType"))? || is(intern!(py, "CallableProxyType"))?)
    });
    Ok(ok_unless_exit(py, is_proxy)? == Some(true))
}

/// How the owner of a table was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::python) enum Found {
    /// It owns the table, even if other classes do too: it was recorded as an owner, or
    /// is immutable, or C code made copies of it.
    Shared,
    /// It is the only class that has the table, and owns it unless another class is
    /// already recorded as the owner.
    Alone,
}

/// The classes that have the table of another class and do not inherit from it.
enum Others {
    None,
    /// C code copied the attributes of the other class to at least one of them, and
    /// Python code can have copied the table to the rest.
    Copies,
    /// The table may belong to one of them.
    Unrelated,
}

/// Whether Python code cannot set attributes of a class: C code made the class as a
/// static type, or with the flag below.
fn is_immutable(class: &Bound<'_, PyAny>) -> bool {
    /// `Py_TPFLAGS_IMMUTABLETYPE`, since 3.10.
    const IMMUTABLE: core::ffi::c_ulong = 1 << 8;
    // SAFETY: this thread is attached. A method resolution order contains types only,
    // which CPython checks when it makes a class.
    unsafe { ffi::PyType_GetFlags(class.as_ptr().cast()) & IMMUTABLE != 0 }
}

/// Descriptors of `type`, which read the attributes of any class from the C struct of the
/// type. A metaclass can override what `class.__mro__` returns, but not these.
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

    /// Returns an attribute of a class itself.
    fn own(
        &self,
        class: &Bound<'py, PyAny>,
        name: &Bound<'py, PyString>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let own = self.attributes.call_method1(intern!(class.py(), "__get__"), (class,))?;
        if own.contains(name)? { own.get_item(name).map(Some) } else { Ok(None) }
    }

    /// Returns the method resolution order of a class.
    fn order(&self, class: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
        let order = self.order.call_method1(intern!(class.py(), "__get__"), (class,))?;
        Ok(order.extract()?)
    }

    /// Whether a class itself has a table among its attributes, under either name.
    ///
    /// # Errors
    ///
    /// As for [`owner_of`].
    fn has(&self, class: &Bound<'py, PyAny>, table: Table) -> PyResult<bool> {
        let py = class.py();
        let read = || -> PyResult<bool> {
            for name in table_names(py) {
                let own = self.own(class, name)?;
                if own.is_some_and(|own| table_in(&own) == Some(table)) {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        Ok(ok_unless_exit(py, read())?.unwrap_or(false))
    }

    /// Whether C code copied the attributes of `original` to `class`: `class` is
    /// immutable, and its `__dict__` or `__weakref__` is the descriptor that the class
    /// statement of `original` made.
    ///
    /// # Errors
    ///
    /// As for [`owner_of`].
    fn is_copy(&self, class: &Bound<'py, PyAny>, original: &Bound<'py, PyAny>) -> PyResult<bool> {
        let py = class.py();
        let read = || -> PyResult<bool> {
            for name in [intern!(py, "__dict__"), intern!(py, "__weakref__")] {
                let Some(value) = self.own(class, name)? else { continue };
                // Python code cannot choose what such a descriptor returns here.
                if value.get_type().is(self.attributes.get_type())
                    && value.getattr(intern!(py, "__objclass__"))?.is(original)
                {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        Ok(is_immutable(class) && ok_unless_exit(py, read())?.unwrap_or(false))
    }

    /// Searches for classes that have the table of `owner` and do not inherit from it.
    ///
    /// # Errors
    ///
    /// As for [`owner_of`].
    fn others_with(&self, owner: &Bound<'py, PyAny>, table: Table) -> PyResult<Others> {
        let py = owner.py();
        let (mut copies, mut mutable) = (false, false);
        let mut seen = BTreeSet::new();
        let mut left = Vec::from([py.get_type::<PyAny>().into_any()]);
        while let Some(class) = left.pop() {
            if !seen.insert(class.as_ptr().addr()) {
                continue;
            }
            if self.has(&class, table)? && !self.order(&class)?.contains(owner)? {
                if self.is_copy(&class, owner)? {
                    copies = true;
                } else if is_immutable(&class) {
                    return Ok(Others::Unrelated);
                } else {
                    mutable = true;
                }
            }
            let below = self.subclasses.call1((&class,))?;
            left.extend(below.extract::<Vec<Bound<'py, PyAny>>>()?);
        }
        Ok(match (copies, mutable) {
            (true, _) => Others::Copies,
            (false, true) => Others::Unrelated,
            (false, false) => Others::None,
        })
    }
}
