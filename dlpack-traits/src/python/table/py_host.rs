//! Implements the host of an exchange table for Python: [`PyHost`].

use alloc::boxed::Box;
use alloc::string::ToString;
use core::ffi::c_void;

use pyo3::exceptions::{PyBufferError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::exchange::{ObjectHost, TableError, Wrap};
use crate::managed::{RawManaged, Release};
use crate::python::convert::{self, attached, attached_object, exchange_error, panicked};
use crate::python::export::erased_ref::{
    ClassVTable, export_owned_object, export_shared_object, instance,
};
use crate::python::export::export_class::{ClassAccess, ExportClass};
use crate::python::interpreter::deferred_drop::drain;
use crate::python::interpreter::drop_attached::release;
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
        let py: Python<'static> = unsafe { attached() };
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
        let py: Python<'static> = unsafe { attached() };
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
