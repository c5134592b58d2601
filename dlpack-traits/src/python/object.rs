//! The Rust value of a Python object: borrowed from it, and exported with it.

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
#[inline(always)]
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
