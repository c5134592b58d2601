//! The Rust value of a Python object: borrowed from it, and exported with it.

use core::ptr;

use pyo3::prelude::*;
use pyo3::{Borrowed, ffi};

use super::class::ExportClass;
use super::owner::PyOwner;
use crate::error::Error;
use crate::export::{into_managed, share_managed};
use crate::managed::{Abi, ManagedTensor};
use crate::stream::StreamArg;

/// The Rust value of an object, borrowed from it: one of the class, or of a
/// subclass.
///
/// # Safety
///
/// 1. `object` is alive.
#[inline(always)]
pub(super) unsafe fn borrow<T: ExportClass>(
    py: Python<'static>,
    object: *mut ffi::PyObject,
) -> PyResult<PyRef<'static, T>> {
    // SAFETY: by 1, for longer than it takes.
    let object = unsafe { Borrowed::from_ptr(py, object) };
    Ok(object.extract::<PyRef<'static, T>>()?)
}

/// Exports the tensor of an object, which stays usable, without a copy.
pub(super) fn share<A: Abi, T: ExportClass>(
    object: PyRef<'static, T>,
    consumer: StreamArg<'_>,
) -> Result<ManagedTensor<A>, Error> {
    match share_managed::<A, T>(&object, consumer) {
        // The object itself is the only owner that there is.
        Err(Error::NotShareable) => into_managed(PyOwner::new(object), consumer),
        shared => shared,
    }
}

/// [`share`] for who gives the tensor away: the caller has the duty to release it.
#[inline(always)]
pub(super) fn share_raw<A: Abi, T: ExportClass>(
    object: PyRef<'static, T>,
    consumer: StreamArg<'_>,
) -> Result<*mut A, Error> {
    let mut refused = Error::NotShareable;
    let shared = share_value::<A, T>(&object, consumer, &mut refused);
    if shared.is_null() { share_otherwise(object, consumer, refused) } else { Ok(shared) }
}

/// Shares a value; NULL with the reason if that fails. A pointer stays in a register. What
/// goes through memory takes longer to read there than all checks together.
#[inline(never)]
fn share_value<A: Abi, T: ExportClass>(
    value: &T,
    consumer: StreamArg<'_>,
    refused: &mut Error,
) -> *mut A {
    match share_managed::<A, T>(value, consumer) {
        Ok(tensor) => tensor.into_raw(),
        Err(error) => {
            *refused = error;
            ptr::null_mut()
        }
    }
}

#[cold]
#[inline(never)]
fn share_otherwise<A: Abi, T: ExportClass>(
    object: PyRef<'static, T>,
    consumer: StreamArg<'_>,
    refused: Error,
) -> Result<*mut A, Error> {
    match refused {
        // The object itself is the only owner that there is.
        Error::NotShareable => Ok(into_managed(PyOwner::new(object), consumer)?.into_raw()),
        refused => Err(refused),
    }
}
