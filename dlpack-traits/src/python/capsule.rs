//! Puts managed tensors into Python capsules. This module calls functions of the stable
//! ABI only.

use core::ffi::{CStr, c_void};
use core::ptr::{self, NonNull};

use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;

use super::convert::attached;
use crate::managed::{Abi, RawManaged};
use crate::python::interpreter::pending_exception::SavedError;

/// Puts a tensor into a capsule, from which a consumer may take it.
///
/// Returns NULL with an exception set if Python cannot allocate the capsule; the tensor
/// is then released.
#[inline]
pub(super) fn new<A: Abi>(py: Python<'_>, tensor: RawManaged<A>) -> *mut PyObject {
    let managed = tensor.into_raw();
    let tensor = managed.as_ptr().cast();
    // SAFETY: this thread is attached. The name is static, the pointer is not NULL, and the
    // destructor is the one for capsules of this struct.
    let capsule = unsafe { ffi::PyCapsule_New(tensor, A::CAPSULE.as_ptr(), Some(destroy::<A>)) };
    if capsule.is_null() {
        let no_memory = SavedError::set_aside(py);
        // SAFETY: 1 (the struct of a handle): it was just released from its handle, and no
        // consumer took it.
        drop(unsafe { RawManaged::from_raw(managed) });
        no_memory.restore(py);
        return capsule;
    }
    // The destructor reads the context, because `PyCapsule_GetContext` compares no name.
    // It can fail only if the object is not a capsule.
    // SAFETY: this thread is attached, and the capsule was just made.
    unsafe { ffi::PyCapsule_SetContext(capsule, tensor) };
    capsule
}

/// Releases the tensor of a capsule from which no consumer took it: the destructor of the
/// capsule.
///
/// A capsule may be destroyed while an exception is set, and dropping the owner of the
/// tensor may run any code. The exception is therefore set aside during the drop. An
/// exception that the owner leaves behind is reported as unraisable.
///
/// # Safety
///
/// 1. Python calls it, as the destructor of a capsule that [`new`] made for `A`.
unsafe extern "C" fn destroy<A: Abi>(capsule: *mut PyObject) {
    // SAFETY: 1. By 1 Python calls the destructor: the thread is attached, and the
    // capsule is alive.
    if !unsafe { is_unused::<A>(capsule) } {
        return;
    }
    // SAFETY: as above. Only the maker of a capsule sets its context: it is what `new`
    // set.
    let managed = unsafe { ffi::PyCapsule_GetContext(capsule) };
    let Some(managed) = NonNull::new(managed.cast::<A>()) else { return };
    // SAFETY: 1. By 1 this thread is attached.
    let py: Python<'_> = unsafe { attached() };
    let pending = SavedError::set_aside(py);
    // SAFETY: 1 (the struct of a handle): a capsule of this crate that still has the unused
    // name owns its struct, and the capsule is being destroyed.
    drop(unsafe { RawManaged::from_raw(managed) });
    pending.restore(py);
}

/// Returns whether the capsule still has the name that says that it owns its struct.
///
/// # Safety
///
/// 1. The calling thread is attached, and `capsule` is a living capsule.
unsafe fn is_unused<A: Abi>(capsule: *mut PyObject) -> bool {
    // SAFETY: by 1.
    let name = unsafe { ffi::PyCapsule_GetName(capsule) };
    if ptr::eq(name, A::CAPSULE.as_ptr()) {
        return true;
    }
    // A consumer may have restored the original name with a string of its own.
    // SAFETY: the name of a capsule is NULL or a C string that outlives it.
    !name.is_null() && unsafe { CStr::from_ptr(name) } == A::CAPSULE
}

/// Returns the pointer of a capsule with that name; `None` for any other object.
#[inline]
pub(super) fn pointer_named(object: &Bound<'_, PyAny>, name: &CStr) -> Option<NonNull<c_void>> {
    // SAFETY: this thread is attached, and the object is alive.
    if unsafe { ffi::PyCapsule_IsValid(object.as_ptr(), name.as_ptr()) } == 0 {
        return None;
    }
    // SAFETY: the capsule is valid under this name.
    NonNull::new(unsafe { ffi::PyCapsule_GetPointer(object.as_ptr(), name.as_ptr()) })
}
