//! Publishes the exchange tables of our classes, [`publish`], whose host is [`PyHost`], and calls those
//! of other libraries.

pub(in crate::python) mod calls;
pub(in crate::python) mod lookup;
pub(in crate::python) mod owner_class;
pub(in crate::python) mod to_object;
pub(in crate::python) mod type_cache;

use alloc::boxed::Box;
use alloc::string::ToString;
use core::ffi::{CStr, c_void};

use pyo3::exceptions::{PyBufferError, PyRuntimeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyType;

use self::lookup::remember_own;
use self::type_cache::Makes;
use crate::exchange::{ATTRIBUTE, CAPSULE, ObjectHost, TableError, Wrap};
use crate::ffi::DLPackExchangeAPI;
use crate::managed::{RawManaged, Release};
use crate::python::convert::{self, attached_object, exchange_error, panicked};
use crate::python::export::export_class::{
    ClassAccess, ClassVTable, ExportClass, export_owned_object, export_shared_object, instance,
};
use crate::python::interpreter::drop_attached::{drain, release};
use crate::python::interpreter::pending_exception::PendingAside;
use crate::stream_arg::StreamArg;

/// The Python host: objects of a PyO3 class, and of its subclasses, hold a value of the
/// Rust type.
///
/// `READ_ONLY_VIEWS` states whether borrowed tensors of read-only memory are exported;
/// see [`ClassBuilder::read_only_views`](crate::python::ClassBuilder::read_only_views).
#[derive(Debug)]
pub struct PyHost<const READ_ONLY_VIEWS: bool = false>(());

// SAFETY: 1. `instance` checks that the object is of the class. The value of a class that can
// change is borrowed while `run` runs; that of a frozen class PyO3 never borrows by `&mut`.
// 2. For the same reason, and the value is moved into the object once, when the object is
// made. 3. `ClassBuilder` sets it to true only if its caller promised it in `unsafe`.
unsafe impl<T: ExportClass, const READ_ONLY_VIEWS: bool> ObjectHost<T> for PyHost<READ_ONLY_VIEWS> {
    type Error = PyErr;

    const READ_ONLY_VIEWS: bool = READ_ONLY_VIEWS;

    #[inline]
    unsafe fn with<R>(
        object: *mut c_void,
        run: impl FnOnce(&T) -> Result<R, TableError<PyErr>>,
    ) -> Result<R, TableError<PyErr>> {
        // SAFETY: 1. and 2. By 1 this thread is attached, and the object is alive for the call.
        let object = unsafe { attached_object(object.cast()) };
        let _pending = PendingAside::new(object.py());
        let object = instance::<T>(object).map_err(TableError::Host)?;
        run(&*T::Frozen::borrow(&object).map_err(TableError::Host)?)
    }

    #[inline]
    unsafe fn view<R>(
        object: *mut c_void,
        run: impl FnOnce(&T) -> Result<R, TableError<PyErr>>,
    ) -> Result<R, TableError<PyErr>> {
        if !T::Frozen::IS_FROZEN {
            return Err(TableError::Host(PyBufferError::new_err(
                "a borrowed tensor can be had of `#[pyclass(frozen)]` only: an object of this \
                 class may change while it is read; take a managed tensor",
            )));
        }
        // SAFETY: 1 (`object` is alive, this thread is attached): guaranteed by our
        // caller's 1.
        unsafe { <Self as ObjectHost<T>>::with(object, run) }
    }

    #[inline(always)]
    unsafe fn export_raw(object: *mut c_void) -> Result<RawManaged, Box<TableError<PyErr>>> {
        // SAFETY: 1. and 2. By 1 this thread is attached, and the object is alive for the call.
        let object = unsafe { attached_object(object.cast()) };
        let _pending = PendingAside::new(object.py());
        drain(object.py());
        let stream = StreamArg::work_stream();
        match export_shared_object::<T>(object, stream)? {
            Some(tensor) => Ok(tensor),
            None => export_owned_object(ClassVTable::of::<T>(), object, stream),
        }
    }

    unsafe fn raise(fault: TableError<PyErr>) {
        // SAFETY: by 1 this thread is attached.
        let py: Python<'static> = unsafe { Python::assume_attached() };
        convert::raise(py, PyErr::from(fault));
    }
}

// SAFETY: 1. PyO3 returns a new reference.
unsafe impl<T, const READ_ONLY_VIEWS: bool> Wrap<T> for PyHost<READ_ONLY_VIEWS>
where
    T: ExportClass + Into<PyClassInitializer<T>>,
{
    const DELETERS: Option<fn(Release)> = Some(release);

    #[inline]
    unsafe fn wrap(value: T) -> Result<*mut c_void, TableError<PyErr>> {
        // SAFETY: by 1 this thread is attached, for longer than the call.
        let py: Python<'static> = unsafe { Python::assume_attached() };
        let _pending = PendingAside::new(py);
        let object = Bound::new(py, value).map_err(TableError::Host)?;
        Ok(object.into_ptr().cast())
    }
}

impl From<TableError<PyErr>> for PyErr {
    /// Makes the exception of the fault's [`kind`](TableError::kind). An exception that Python
    /// raised is kept.
    fn from(fault: TableError<PyErr>) -> Self {
        match fault {
            TableError::Tensor(error) => exchange_error(error),
            TableError::Import(error) => error.into(),
            TableError::Host(error) => error,
            TableError::Panicked => panicked(),
            other => match other.kind().to_bytes() {
                b"ValueError" => PyValueError::new_err(other.to_string()),
                b"BufferError" => PyBufferError::new_err(other.to_string()),
                _ => PyRuntimeError::new_err(other.to_string()),
            },
        }
    }
}

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
