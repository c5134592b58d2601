//! Takes a tensor out of a capsule, exactly once: [`take`].

use alloc::format;
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::ffi as py_ffi;
use pyo3::prelude::*;

use crate::ffi::{DLManagedTensor, DLManagedTensorVersioned};
use crate::import::{ImportPolicy, ImportedTensor};
use crate::managed::{Abi, ManagedStruct};
use crate::python::adopt::adopt;
use crate::python::capsule::{self, CapsuleName};
use crate::python::convert::clear;

/// Whether every interpreter that can load this module has a permanent GIL.
///
/// It is decided at compile time. A build for free-threaded interpreters has another
/// `PyObject`: one with more fields than a reference count and a type, or with unknown
/// fields, as in the stable ABI `abi3t`. An interpreter without a GIL loads no module of
/// the first kind. An interpreter with a GIL may load an `abi3t` module, which then locks
/// without need.
/// `sys._is_gil_enabled` is not called: Python code can replace it, and its result
/// changes while an extension module is imported.
const HAS_GIL: bool = size_of::<py_ffi::PyObject>() == 2 * size_of::<usize>();

/// Held while a capsule is checked and renamed in a build without [`HAS_GIL`], so that
/// exactly one of several threads that take from one capsule gets the tensor. With a GIL
/// no lock is needed, because none of the three functions releases it. None of them waits
/// for another thread, so the lock cannot deadlock.
static TAKING: Mutex<()> = Mutex::new(());

/// Takes the tensor that a capsule owns. Producers are trusted: a capsule that has the name
/// of capsules with a tensor owns a tensor as the standard describes it.
///
/// # Errors
///
/// `ValueError` if it owns none: it is not a capsule of a tensor, or a consumer has
/// already taken the tensor. Otherwise those of [`ImportedTensor::from_raw`].
#[inline(always)]
pub(in crate::python) fn take(
    capsule: &Bound<'_, PyAny>,
    policy: ImportPolicy,
) -> PyResult<ImportedTensor> {
    if let Some(managed) = claim::<DLManagedTensorVersioned>(capsule)? {
        // SAFETY: 1. By its name the capsule owned the tensor, which it does not any more. Its
        // producer is trusted to follow the standard.
        return unsafe { adopt(managed, policy) };
    }
    if let Some(managed) = claim::<DLManagedTensor>(capsule)? {
        // SAFETY: as above.
        return unsafe { adopt(managed, policy) };
    }
    Err(nothing_in(capsule))
}

/// Renames the capsule, so that it owns nothing any more, and returns the struct that it
/// owned. Returns `None` if its name is not that of capsules of this struct.
#[inline]
fn claim<A: Abi>(capsule: &Bound<'_, PyAny>) -> PyResult<Option<*mut A>> {
    let object = capsule.as_ptr();
    let _taking = (!HAS_GIL).then(|| TAKING.lock().unwrap_or_else(PoisonError::into_inner));
    let Some(managed) = capsule::pointer_named(capsule, A::CAPSULE) else { return Ok(None) };
    // SAFETY: this thread is attached, the object is a capsule, and the new name is static.
    if unsafe { py_ffi::PyCapsule_SetName(object, A::USED_CAPSULE.as_ptr()) } != 0 {
        // The capsule still owns the tensor.
        return Err(PyErr::fetch(capsule.py()));
    }
    Ok(Some(managed.cast().as_ptr()))
}

/// Makes the error for a capsule without a tensor to take.
#[cold]
fn nothing_in(capsule: &Bound<'_, PyAny>) -> PyErr {
    let Some(name) = CapsuleName::of(capsule).map(CapsuleName::text) else {
        // There is an exception if the object is not a capsule.
        clear(capsule.py());
        return PyValueError::new_err("a capsule without a name holds no tensor");
    };
    if name == DLManagedTensorVersioned::USED_CAPSULE || name == DLManagedTensor::USED_CAPSULE {
        PyValueError::new_err("the tensor of this capsule was taken before; export it again")
    } else {
        PyValueError::new_err(format!("a capsule named {name:?} holds no tensor"))
    }
}
