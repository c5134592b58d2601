//! Puts managed tensors into Python capsules. This module calls functions of the stable
//! ABI only.

use core::ffi::CStr;
use core::ptr::{self, NonNull};

use pyo3::ffi::{self, PyObject};

use crate::managed::{Abi, RawManaged};
use crate::python::interpreter::pending_exception::SavedError;

/// Puts a tensor into a capsule, from which a consumer may take it.
///
/// Returns NULL with an exception set if Python cannot allocate the capsule; the tensor
/// is then released.
///
/// # Safety
///
/// 1. The calling thread is attached to the interpreter.
#[inline]
pub(super) unsafe fn new<A: Abi>(tensor: RawManaged<A>) -> *mut PyObject {
    let managed = tensor.into_raw();
    let tensor = managed.as_ptr().cast();
    // SAFETY: by 1 Python may be called. The name is static, the pointer is not NULL, and
    // the destructor is the one for capsules of this struct.
    let capsule = unsafe { ffi::PyCapsule_New(tensor, A::CAPSULE.as_ptr(), Some(destroy::<A>)) };
    if capsule.is_null() {
        // SAFETY: by 1 this thread is attached.
        let no_memory = unsafe { SavedError::set_aside() };
        // SAFETY: 1. The struct was just released from its handle, and no consumer took
        // it.
        unsafe { delete(managed) };
        // SAFETY: by 1 this thread is attached.
        unsafe { no_memory.restore() };
        return capsule;
    }
    // The destructor reads the context, because `PyCapsule_GetContext` compares no name.
    // It can fail only if the object is not a capsule.
    // SAFETY: by 1 this thread is attached, and the capsule was just made.
    unsafe { ffi::PyCapsule_SetContext(capsule, tensor) };
    capsule
}

/// Calls the deleter of a struct, if it has one.
///
/// # Safety
///
/// 1. `managed` is a struct that this crate exported, alive, and is not used again.
unsafe fn delete<A: Abi>(managed: NonNull<A>) {
    // SAFETY: by 1 the struct is alive, and it is plain data.
    let deleter = unsafe { managed.read() }.deleter();
    if let Some(deleter) = deleter {
        // SAFETY: by 1 this is the only call.
        unsafe { deleter(managed.as_ptr()) }
    }
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
    // SAFETY: by 1 this thread is attached.
    let pending = unsafe { SavedError::set_aside() };
    // SAFETY: 1. A capsule of this crate that still has the unused name owns its struct,
    // and the capsule is being destroyed.
    unsafe { delete(managed) };
    // SAFETY: by 1 this thread is attached.
    unsafe { pending.restore() };
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
