//! Looks up the exchange table of a Python type: [`foreign_table_of`].

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    PyBool, PyCFunction, PyDict, PyInt, PyString, PyTuple, PyType, PyWeakrefReference,
};

use crate::exchange::foreign_table::{ExportFunction, ForeignTable, ViewFunction};
use crate::python::convert::{ok_or_discard, ok_unless_exit, unless_missing};
use crate::python::interpreter::drop_attached::watch;
use crate::python::numpy::NumPy;
use crate::python::table::owner_class::{
    Found, own_attribute, owner_of, passes_on, table_in, table_names,
};
use crate::python::table::type_cache::{Added, CachedType, Makes, Table, TypeCache, TypeFacts};

/// The cache of looked-up types. It holds a weak reference to each type in it, whose callback
/// removes the type before it is freed, so no other type has the address of a cached type.
/// Tables, and the classes to which they belong, are never freed.
///
/// Interpreters that share a GIL share this cache; interpreters with their own GIL cannot
/// import the module.
static REMEMBERED: TypeCache = TypeCache::new();

/// An object, and the exchange table of its type or a function of that table.
#[derive(Clone, Copy, Debug)]
pub(in crate::python) struct OfObject<'a, 'py, F> {
    object: &'a Bound<'py, PyAny>,
    found: F,
    has_lazy_bits: bool,
}

impl<'a, 'py, F: Copy> OfObject<'a, 'py, F> {
    #[inline(always)]
    pub(in crate::python) fn object(self) -> &'a Bound<'py, PyAny> {
        self.object
    }

    #[inline(always)]
    pub(in crate::python) fn get(self) -> F {
        self.found
    }

    /// Whether the object may have bits that an export drops.
    #[inline(always)]
    pub(in crate::python) fn has_lazy_bits(self) -> bool {
        self.has_lazy_bits
    }

    /// The object with another find.
    #[inline(always)]
    fn with<G>(self, found: G) -> OfObject<'a, 'py, G> {
        OfObject { object: self.object, found, has_lazy_bits: self.has_lazy_bits }
    }
}

impl<'a, 'py> OfObject<'a, 'py, ForeignTable> {
    #[inline(always)]
    pub(in crate::python) fn export(self) -> Option<OfObject<'a, 'py, ExportFunction>> {
        self.found.export.map(|found| self.with(found))
    }

    pub(in crate::python) fn view(self) -> Option<OfObject<'a, 'py, ViewFunction>> {
        self.found.view.map(|found| self.with(found))
    }
}

/// Returns the exchange table of an object's type.
///
/// # Errors
///
/// Those of [`foreign_table_of`].
#[inline(always)]
pub(in crate::python) fn table_of<'a, 'py>(
    object: &'a Bound<'py, PyAny>,
) -> PyResult<Option<OfObject<'a, 'py, ForeignTable>>> {
    let TypeFacts { table, has_lazy_bits, .. } = facts_of(object)?;
    Ok(read(table).map(|found| OfObject { object, found, has_lazy_bits }))
}

/// Returns the exchange table of a type, its own or an inherited one, if this crate can
/// read it and no unrelated class has the same table.
///
/// The result is cached, also if there is no table, so a table that is added to a type
/// later may not be found.
///
/// # Errors
///
/// What looking up the attribute raises, other than `AttributeError`.
pub(in crate::python) fn foreign_table_of(
    class: &Bound<'_, PyType>,
) -> PyResult<Option<ForeignTable>> {
    Ok(read(facts_of_type(class)?.table))
}

/// Returns what is known about the type of an object.
#[inline(always)]
fn facts_of(object: &Bound<'_, PyAny>) -> PyResult<TypeFacts> {
    // The address is only compared: the type is not dereferenced.
    match REMEMBERED.facts_of(object.get_type_ptr().cast()) {
        Some(facts) => Ok(facts),
        None => look_up(&object.get_type()),
    }
}

/// As [`facts_of`], for a type.
pub(super) fn facts_of_type(class: &Bound<'_, PyType>) -> PyResult<TypeFacts> {
    REMEMBERED.facts_of(class.as_ptr().cast()).map_or_else(|| look_up(class), Ok)
}

/// Reads a table that the cache returned.
#[inline(always)]
pub(super) fn read(table: Table) -> Option<ForeignTable> {
    // SAFETY: 1. The table is from a capsule whose name says that it contains a table.
    // The library that made it is trusted to have made it as the standard says, for the
    // life of the process.
    unsafe { ForeignTable::read(table) }
}

/// Whether an object may have bits that an export drops.
///
/// # Errors
///
/// Those of [`foreign_table_of`].
#[inline]
pub(in crate::python) fn has_lazy_bits(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(facts_of(object)?.has_lazy_bits)
}

/// Whether an object requires a gradient, and its type has an exchange table. PyTorch's
/// table also exports tensors that require a gradient, which its `__dlpack__` rejects.
///
/// The attribute is read of objects whose type has it: PyTorch's getter takes 110 ns, where
/// an import takes 125. Imports that only read do not call this function.
///
/// # Errors
///
/// Those of [`foreign_table_of`], and what the getter raises.
pub(in crate::python) fn requires_grad(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    if !facts_of(object)?.has_grad {
        return Ok(false);
    }
    let py = object.py();
    Ok(object.getattr(intern!(py, "requires_grad"))?.is(PyBool::new(py, true)))
}

#[cold]
fn look_up(class: &Bound<'_, PyType>) -> PyResult<TypeFacts> {
    watch(class.py());
    // Imports read NumPy's arrays without a call of `__dlpack__` once this has found NumPy.
    ok_unless_exit(class.py(), NumPy::is_array_class(class))?;
    let mut known = TypeFacts { has_lazy_bits: may_have_lazy_bits(class)?, ..TypeFacts::NONE };
    let capsule = find(class)?;
    known.has_lazy_bits |= capsule.is_none() && passes_on_dlpack(class)?;
    if let Some(capsule) = capsule {
        if let Some(table) = table_in(&capsule) {
            let owner = owner_of(class, table, || REMEMBERED.owners_of(table))?;
            if let Some((owner, found)) = owner {
                if belongs_to(&capsule, table, &owner, found) {
                    known.table = table;
                    known.has_grad =
                        attribute(class, intern!(class.py(), "requires_grad"))?.is_some();
                }
            }
        }
    }
    remember(class, known);
    Ok(known)
}

/// Whether objects of a type may have the bits of [`check_lazy_bits`](crate::python::table::calls::check_lazy_bits).
fn may_have_lazy_bits(class: &Bound<'_, PyType>) -> PyResult<bool> {
    Ok(own_attribute(class, "is_neg")?.is_some() && own_attribute(class, "resolve_neg")?.is_some())
}

/// Whether objects of a type may pass on the `__dlpack__` of another object, which may have such bits
/// or masked elements (`import::missing_values`).
fn passes_on_dlpack(class: &Bound<'_, PyType>) -> PyResult<bool> {
    Ok(own_attribute(class, "__dlpack__")?.is_none() && passes_on(class)?)
}

/// Records permanently that a table belongs to a class. Returns `false` if it belongs to
/// another class.
fn belongs_to(
    capsule: &Bound<'_, PyAny>,
    table: Table,
    owner: &Bound<'_, PyAny>,
    found: Found,
) -> bool {
    let alone = found == Found::Alone;
    let added = REMEMBERED.add_owner(table, owner.as_ptr().cast(), alone);
    if added == Added::New {
        // The list owns these references, so no other class has the address of this
        // class, and no other table that of this table.
        let _ = (capsule.clone().into_ptr(), owner.clone().into_ptr());
    }
    added != Added::Refused
}

/// Records that a table belongs to a class, because this crate published it there. Code
/// that copies the attribute to another class then does not make this class lose its
/// table.
pub(in crate::python) fn remember_own(
    class: &Bound<'_, PyType>,
    capsule: &Bound<'_, PyAny>,
    makes: Makes,
) {
    let Some(table) = table_in(capsule) else { return };
    belongs_to(capsule, table, class, Found::Shared);
    set_makes(table, |_| makes);
    remember(class, TypeFacts { table, ..TypeFacts::NONE });
}

/// How a table creates objects.
pub(super) fn makes(table: Table) -> Makes {
    REMEMBERED.makes(table)
}

/// Changes how a table creates objects.
pub(super) fn set_makes(table: Table, change: impl Fn(Makes) -> Makes) {
    REMEMBERED.set_makes(table, change);
}

/// Caches what was found for a class.
fn remember(class: &Bound<'_, PyType>, facts: TypeFacts) {
    let py = class.py();
    let reference = callback(py).and_then(|callback| PyWeakrefReference::new_with(class, callback));
    let Some(reference) = ok_or_discard(py, reference) else { return };
    // The cache owns this reference.
    let reference = reference.into_ptr().cast();
    drop_reference(
        py,
        REMEMBERED.put(CachedType { class: class.as_ptr().cast(), reference, facts }),
    );
}

/// The function that weak references to types call with themselves.
fn callback(py: Python<'_>) -> PyResult<&Bound<'_, PyCFunction>> {
    static CALLBACK: PyOnceLock<Py<PyCFunction>> = PyOnceLock::new();
    if let Some(callback) = CALLBACK.get(py) {
        return Ok(callback.bind(py));
    }
    let remove = |arguments: &Bound<'_, PyTuple>, _: Option<&Bound<'_, PyDict>>| {
        let py = arguments.py();
        if let Some(reference) = ok_or_discard(py, arguments.get_item(0)) {
            drop_reference(py, REMEMBERED.remove(reference.as_ptr().cast()));
        }
    };
    // Made outside of the lock of the cell, because an allocation may run Python code.
    let callback = PyCFunction::new_closure(py, None, None, remove)?.unbind();
    Ok(CALLBACK.get_or_init(py, || callback).bind(py))
}

/// Drops the weak reference of a type that the cache returned.
fn drop_reference(py: Python<'_>, known: Option<CachedType>) {
    if let Some(CachedType { reference, .. }) = known {
        // SAFETY: this thread is attached. `remember` made the reference, which is owned.
        drop(unsafe { Bound::from_owned_ptr(py, reference.cast()) });
    }
}

/// Reads the attribute of the type, not of the object, whose attributes can be anything.
fn find<'py>(class: &Bound<'py, PyType>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let [new, old] = table_names(class.py());
    // The new name takes precedence, even if its value is `None`.
    match attribute(class, new)? {
        None => attribute(class, old),
        found => Ok(found),
    }
}

fn attribute<'py>(
    class: &Bound<'py, PyType>,
    name: &Bound<'py, PyString>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    unless_missing(class.py(), class.getattr(name))
}

/// Returns the table that an object's type published as an integer address, as types did
/// before DLPack 1.3, under either name.
///
/// # Safety
///
/// 1. If either attribute of the type is an integer, it is 0 or the address of
///    a table that lives as long as the process.
pub(in crate::python) unsafe fn table_by_address<'a, 'py>(
    object: &'a Bound<'py, PyAny>,
) -> PyResult<Option<OfObject<'a, 'py, ForeignTable>>> {
    let class = &object.get_type();
    for name in table_names(object.py()) {
        let Some(found) = attribute(class, name)? else { continue };
        if found.is_exact_instance_of::<PyInt>() {
            let address = core::ptr::with_exposed_provenance_mut(found.extract::<usize>()?);
            // SAFETY: 1. By 1 it is 0 or the address of a table.
            let table = unsafe { ForeignTable::read(address) };
            let has_lazy_bits = has_lazy_bits(object)?;
            return Ok(table.map(|found| OfObject { object, found, has_lazy_bits }));
        }
    }
    Ok(None)
}
