//! Borrows the Rust value of a Python object without naming its type: [`Object`],
//! [`Class`].

use core::mem::MaybeUninit;

use pyo3::prelude::*;
use pyo3::{Borrowed, ffi};

use crate::error::Error;
use crate::exchange::{TableError, refuse};
use crate::managed::RawManaged;
use crate::python::convert::attached;
use crate::python::export::erased::DynExport;
use crate::python::export::export_class::ExportClass;
use crate::python::export::protocol::Capsule;
use crate::stream::StreamArg;

/// The functions that depend on the class of an object. All other code is compiled once,
/// for all classes.
///
/// `value` and `drop` take the address of a reference of the type for which this was made.
pub(in crate::python) struct Class {
    /// [`Object::borrow`].
    pub(in crate::python) borrow: unsafe fn(*mut ffi::PyObject) -> PyResult<Object>,
    /// [`share_or`].
    pub(in crate::python) share_or: ShareOr,
    pub(in crate::python) value: for<'a> unsafe fn(&'a Reference) -> &'a dyn DynExport,
    pub(in crate::python) drop: unsafe fn(*mut Reference),
}

type ShareOr = unsafe fn(
    *mut ffi::PyObject,
    Capsule,
    StreamArg<'_>,
    &mut Option<TableError<PyErr>>,
) -> Option<RawManaged>;

impl Class {
    /// Returns the functions of a type.
    pub(in crate::python) const fn of<T: ExportClass>() -> &'static Self {
        const {
            &Self {
                borrow: Object::borrow::<T>,
                share_or: share_or::<T>,
                value: value::<T>,
                drop: drop_reference::<T>,
            }
        }
    }
}

/// The value of an object, borrowed from it: a `PyRef<'static, T>` with `T` erased.
pub(in crate::python) struct Object {
    reference: Reference,
    class: &'static Class,
}

/// Space for a `PyRef`, or for another reference to an object, which is one pointer.
pub(in crate::python) type Reference = MaybeUninit<*const ()>;

impl Object {
    /// Erases the type of a reference.
    pub(in crate::python) fn new<T: ExportClass>(object: PyRef<'static, T>) -> Self {
        const {
            assert!(size_of::<PyRef<'_, T>>() <= size_of::<Reference>());
            assert!(align_of::<PyRef<'_, T>>() <= align_of::<Reference>());
        }
        let mut reference = Reference::uninit();
        // SAFETY: by the assertions it has the size and alignment of a `PyRef`.
        unsafe { reference.as_mut_ptr().cast::<PyRef<'static, T>>().write(object) };
        Self { reference, class: Class::of::<T>() }
    }

    /// Takes a reference of another type than `PyRef`.
    ///
    /// # Safety
    ///
    /// 1. `class` was made for the type of this reference, which is owned. The value to which
    ///    it leads stays at its address, and is not borrowed mutably, until it is dropped.
    pub(in crate::python) unsafe fn from_parts(
        reference: Reference,
        class: &'static Class,
    ) -> Self {
        Self { reference, class }
    }

    /// Calls [`borrow`], and erases the type.
    ///
    /// # Safety
    ///
    /// 1. As for [`borrow`].
    unsafe fn borrow<T: ExportClass>(object: *mut ffi::PyObject) -> PyResult<Self> {
        // SAFETY: 1 (`object` is alive, this thread is attached): guaranteed by our
        // caller's 1.
        Ok(Self::new(unsafe { borrow::<T>(object) }?))
    }

    #[inline]
    pub(in crate::python) fn value(&self) -> &dyn DynExport {
        // SAFETY: 1. `class` was made for the type of this reference.
        unsafe { (self.class.value)(&self.reference) }
    }
}

impl Drop for Object {
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
    // SAFETY: by 1 it is an initialised `PyRef`.
    let object: &T = unsafe { &*reference.as_ptr().cast::<PyRef<'static, T>>() };
    object
}

/// # Safety
///
/// 1. A `PyRef<'static, T>` was written there, and is not used again.
unsafe fn drop_reference<T: ExportClass>(reference: *mut Reference) {
    // SAFETY: by 1 it is an initialised `PyRef`, and it is not used again.
    unsafe { reference.cast::<PyRef<'static, T>>().drop_in_place() }
}

/// Borrows the Rust value of an object of the class, or of a subclass.
///
/// # Safety
///
/// 1. `object` is alive, and the calling thread attached.
#[inline(always)]
pub(in crate::python) unsafe fn borrow<T: ExportClass>(
    object: *mut ffi::PyObject,
) -> PyResult<PyRef<'static, T>> {
    // SAFETY: by 1 this thread is attached. A reference that outlives the call is put
    // into an `Object`, which is dropped attached.
    let py: Python<'static> = unsafe { attached() };
    // SAFETY: by 1 the object is alive during this function.
    let object = unsafe { Borrowed::from_ptr(py, object) };
    Ok(object.extract::<PyRef<'static, T>>()?)
}

/// Exports the tensor of an object with another reference to its storage. On failure
/// returns `None` and stores the error in `refused`.
///
/// The struct is always the versioned one, also for a consumer of the legacy struct. A
/// read-only storage, which the legacy struct has no flag for, is rejected before the
/// reference count is incremented.
///
/// # Safety
///
/// 1. As for [`borrow`].
#[inline(never)]
pub(in crate::python) unsafe fn share_or<T: ExportClass>(
    object: *mut ffi::PyObject,
    kind: Capsule,
    consumer: StreamArg<'_>,
    refused: &mut Option<TableError<PyErr>>,
) -> Option<RawManaged> {
    // SAFETY: 1 (`object` is alive, this thread is attached): guaranteed by our caller's
    // 1.
    let object = match unsafe { borrow::<T>(object) } {
        Ok(object) => object,
        Err(error) => {
            refuse(refused, TableError::Host(error));
            return None;
        }
    };
    share_as(&*object, kind, consumer, refused)
}

/// Exports a value with another reference to its storage, for a consumer of the given
/// struct: [`share_or`].
#[inline(always)]
pub(in crate::python) fn share_as<T: DynExport>(
    value: &T,
    kind: Capsule,
    consumer: StreamArg<'_>,
    refused: &mut Option<TableError<PyErr>>,
) -> Option<RawManaged> {
    let mut error = None;
    let shared = if kind == Capsule::Legacy && value.is_frozen() {
        error = Some(Error::ReadOnlyLegacy);
        None
    } else {
        value.share_or(consumer, &mut error)
    };
    if let Some(error) = error {
        refuse(refused, TableError::Tensor(error));
    }
    shared
}

/// Exports a value with another reference to its storage.
pub(in crate::python) fn share(
    value: &dyn DynExport,
    consumer: StreamArg<'_>,
) -> Result<RawManaged, Error> {
    let mut refused = None;
    let shared = value.share_or(consumer, &mut refused);
    shared.ok_or(refused.unwrap_or(Error::NotShareable))
}
