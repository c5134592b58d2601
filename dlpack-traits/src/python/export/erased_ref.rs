//! Borrows the Rust value of a Python object without naming its type: [`ErasedRef`],
//! [`ClassVTable`].

use core::mem::MaybeUninit;

use pyo3::Borrowed;
use pyo3::prelude::*;

use crate::error::Error;
use crate::exchange::TableError;
use crate::managed::RawManaged;
use crate::python::export::dyn_export::DynExport;
use crate::python::export::export_class::{self, ClassAccess, ExportClass};
use crate::python::interpreter::deferred_drop::drain;
use crate::stream::StreamArg;

/// The functions that depend on the class of an object. All other code is compiled once,
/// for all classes.
///
/// `value` and `drop` take the address of a reference of the type for which this was made.
pub(in crate::python) struct ClassVTable {
    /// [`ErasedRef::borrow`].
    pub(in crate::python) borrow: fn(Borrowed<'_, 'static, PyAny>) -> PyResult<ErasedRef>,
    /// [`export_shared_object`].
    pub(in crate::python) export_shared_object: ShareOr,
    value: for<'a> unsafe fn(&'a Reference) -> &'a dyn DynExport,
    drop: unsafe fn(*mut Reference),
}

type ShareOr = fn(
    Borrowed<'_, 'static, PyAny>,
    StreamArg<'_>,
    &mut Option<TableError<PyErr>>,
) -> Option<RawManaged>;

impl ClassVTable {
    /// Returns the functions of a type.
    pub(in crate::python) const fn of<T: ExportClass>() -> &'static Self {
        const {
            &Self {
                borrow: ErasedRef::borrow::<T>,
                export_shared_object: export_shared_object::<T>,
                value: value::<T>,
                drop: drop_reference::<T>,
            }
        }
    }
}

/// The value of an object, borrowed from it: a `PyRef<'static, T>` with `T` erased.
pub(in crate::python) struct ErasedRef {
    reference: Reference,
    class: &'static ClassVTable,
}

/// Space for a `PyRef`, which is one pointer.
type Reference = MaybeUninit<*const ()>;

impl ErasedRef {
    /// Erases the type of a reference.
    pub(in crate::python) fn new<T: ExportClass>(object: PyRef<'static, T>) -> Self {
        const {
            assert!(size_of::<PyRef<'static, T>>() <= size_of::<Reference>());
            assert!(align_of::<PyRef<'static, T>>() <= align_of::<Reference>());
        }
        let mut reference = Reference::uninit();
        // SAFETY: by the assertions there is room for it.
        unsafe { reference.as_mut_ptr().cast::<PyRef<'static, T>>().write(object) };
        Self { reference, class: ClassVTable::of::<T>() }
    }

    /// Borrows the value of an object, with a reference to the object.
    fn borrow<T: ExportClass>(object: Borrowed<'_, 'static, PyAny>) -> PyResult<Self> {
        // One of the values may own another export of the object.
        drain(object.py());
        Ok(Self::new(export_class::borrow(&*instance::<T>(object)?)?))
    }

    #[inline]
    pub(in crate::python) fn value(&self) -> &dyn DynExport {
        // SAFETY: 1. `class` was made for the type of this reference.
        unsafe { (self.class.value)(&self.reference) }
    }
}

impl Drop for ErasedRef {
    fn drop(&mut self) {
        // SAFETY: 1. `class` was made for the type of this reference, which is not used
        // after this.
        unsafe { (self.class.drop)(&raw mut self.reference) }
    }
}

/// # Safety
///
/// 1. A `PyRef<'static, T>` was written there, and not dropped.
unsafe fn value<T: ExportClass>(reference: &Reference) -> &dyn DynExport {
    // SAFETY: by 1 it is an initialized `PyRef`.
    let object: &T = unsafe { &*reference.as_ptr().cast::<PyRef<'static, T>>() };
    object
}

/// # Safety
///
/// 1. A `PyRef<'static, T>` was written there, and is not used again.
unsafe fn drop_reference<T: ExportClass>(reference: *mut Reference) {
    // SAFETY: by 1 it is an initialized `PyRef`, and it is not used again.
    unsafe { reference.cast::<PyRef<'static, T>>().drop_in_place() }
}

/// Casts an object to the class. Fails if it is not an instance of the class or of a subclass.
#[inline(always)]
pub(in crate::python) fn instance<'a, T: ExportClass>(
    object: Borrowed<'a, 'static, PyAny>,
) -> PyResult<Borrowed<'a, 'static, T>> {
    if !object.is_exact_instance_of::<T>() {
        return instance_of_subclass::<T>(object);
    }
    // SAFETY: the object is an instance of the class.
    Ok(unsafe { object.cast_unchecked::<T>() })
}

/// The slow path of [`instance`], for objects of subclasses and of other classes.
#[cold]
#[inline(never)]
fn instance_of_subclass<'a, T: ExportClass>(
    object: Borrowed<'a, 'static, PyAny>,
) -> PyResult<Borrowed<'a, 'static, T>> {
    Ok(object.cast::<T>()?)
}

/// Exports the tensor of an object with another reference to its storage. On failure
/// returns `None` and stores the error in `refused`.
///
/// The struct is always the versioned one, also for a consumer of the legacy struct, which is
/// made of it.
///
/// It is inlined where the exchange table calls it (measured: 21.4 ns per export and release of a
/// class over an `Arc` instead of 24.3).
#[inline(always)]
pub(in crate::python) fn export_shared_object<T: ExportClass>(
    object: Borrowed<'_, 'static, PyAny>,
    consumer: StreamArg<'_>,
    refused: &mut Option<TableError<PyErr>>,
) -> Option<RawManaged> {
    let object = instance::<T>(object).map_err(|error| store_raised(refused, error)).ok()?;
    let value = T::Frozen::borrow(&object).map_err(|error| store_raised(refused, error)).ok()?;
    let mut error = None;
    let shared = value.export_shared_object(consumer, &mut error);
    if error.is_some() {
        store_taken(refused, &mut error);
    }
    shared
}

/// Stores an exception.
#[cold]
#[inline(never)]
fn store_raised(refused: &mut Option<TableError<PyErr>>, error: PyErr) {
    *refused = Some(TableError::Host(error));
}

/// Stores an error that stays in memory, so that callers do not contain the move.
#[cold]
#[inline(never)]
fn store_taken(refused: &mut Option<TableError<PyErr>>, error: &mut Option<Error>) {
    *refused = error.take().map(TableError::Tensor);
}

/// Exports a value with another reference to its storage.
pub(in crate::python) fn share(
    value: &dyn DynExport,
    consumer: StreamArg<'_>,
) -> Result<RawManaged, Error> {
    let mut refused = None;
    let shared = value.export_shared_object(consumer, &mut refused);
    shared.ok_or(refused.unwrap_or(Error::NotShareable))
}
