//! Publishes the exchange tables of our classes: [`publish`], and calls those of other libraries.

pub(in crate::python) mod calls;
pub(in crate::python) mod lazy_bits;
pub(in crate::python) mod lookup;
pub(in crate::python) mod maker;
pub(in crate::python) mod offered;
pub(in crate::python) mod owner_class;
pub(in crate::python) mod py_host;
pub(in crate::python) mod to_object;
pub(in crate::python) mod type_cache;

use core::ffi::CStr;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyType;

use self::lookup::remember_own;
use self::type_cache::Makes;
use crate::exchange::{ATTRIBUTE, CAPSULE};
use crate::ffi::DLPackExchangeAPI;

/// Publishes an exchange table on a type, under `__dlpack_c_exchange_api__`.
///
/// [`add_class`](crate::python::add_class) does this for PyO3 classes. Use `publish` for types
/// that another tool made, such as nanobind or plain C. Implement
/// [`ObjectHost`](crate::exchange::ObjectHost) to access the Rust value in their objects.
///
/// ```no_run
/// use dlpack_traits::backend::Cpu;
/// use dlpack_traits::exchange::{self, ObjectHost, NotImportable};
/// use dlpack_traits::{DLPackExport, python};
/// use pyo3::prelude::*;
/// use pyo3::types::PyType;
///
/// /// # Safety
/// ///
/// /// 1. `H` accepts objects of `class`, and of its subclasses.
/// # #[allow(dead_code)]
/// unsafe fn install<T, H>(class: &Bound<'_, PyType>) -> PyResult<()>
/// where
///     T: DLPackExport + 'static,
///     H: ObjectHost<T> + 'static,
/// {
///     let table = exchange::table::<T, H, Cpu, NotImportable>();
///     // SAFETY: 1: guaranteed by our caller's 1.
///     unsafe { python::publish(class, table) }
/// }
/// ```
///
/// # Errors
///
/// `TypeError` if attributes of the type cannot be set.
///
/// # Safety
///
/// 1. The functions of the table may be called with objects of this type, and of its
///    subclasses.
pub unsafe fn publish(
    class: &Bound<'_, PyType>,
    table: &'static DLPackExchangeAPI,
) -> PyResult<()> {
    publish_as(class, table, ATTRIBUTE, Makes::Foreign(0))
}

/// Publishes a table on a type, under the given attribute name. `makes` says how it creates
/// objects.
pub(in crate::python) fn publish_as(
    class: &Bound<'_, PyType>,
    table: &'static DLPackExchangeAPI,
    attribute: &'static CStr,
    makes: Makes,
) -> PyResult<()> {
    let table = core::ptr::from_ref(table).cast_mut();
    // SAFETY: `class` proves that this thread is attached; the name and the table are
    // static, and nothing writes to a table.
    let capsule = unsafe { ffi::PyCapsule_New(table.cast(), CAPSULE.as_ptr(), None) };
    // SAFETY: this thread is attached, and the result is a new reference or NULL with an
    // exception set.
    let capsule = unsafe { Bound::from_owned_ptr_or_err(class.py(), capsule) }?;
    class.setattr(attribute.to_string_lossy().as_ref(), &capsule)?;
    remember_own(class, &capsule, makes);
    Ok(())
}
