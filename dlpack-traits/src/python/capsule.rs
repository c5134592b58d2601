//! Managed tensors in Python capsules. Only C functions of the stable ABI are
//! named here.

use core::ffi::CStr;
use core::ptr::{self, NonNull};

use pyo3::ffi::{self, PyObject};

use super::in_flight::InFlight;
use crate::managed::{Abi, Outgoing};

/// Puts a tensor into a capsule that a consumer may take it from.
///
/// Returns NULL with an exception set if Python has no memory for the capsule;
/// the tensor is then released.
///
/// # Safety
///
/// 1. The calling thread is attached to the interpreter.
#[inline]
pub(super) unsafe fn new<A: Abi>(tensor: Outgoing<A>) -> *mut PyObject {
    let managed = tensor.into_raw();
    let tensor = managed.as_ptr().cast();
    // SAFETY: by 1 Python may be called; the name is static, the pointer is
    // not NULL, and the destructor is one for capsules of this struct.
    let capsule = unsafe { ffi::PyCapsule_New(tensor, A::CAPSULE.as_ptr(), Some(destroy::<A>)) };
    if capsule.is_null() {
        // SAFETY: this thread is attached.
        let no_memory = unsafe { InFlight::set_aside() };
        // SAFETY: 1. It was just released from its handle, and nobody took it.
        unsafe { delete(managed) };
        // SAFETY: this thread is attached.
        unsafe { no_memory.restore() };
        return capsule;
    }
    // What the destructor reads: a context has no name to compare. That a capsule
    // has one is all that can fail.
    // SAFETY: this thread is attached, and the capsule was just made.
    unsafe { ffi::PyCapsule_SetContext(capsule, tensor) };
    capsule
}

/// Calls the deleter of a struct, if it has one.
///
/// # Safety
///
/// 1. `managed` is a struct that this crate exported, alive, and is not used again.
unsafe fn delete<A: Abi>(managed: NonNull<A>) {
    // SAFETY: by 1 the struct is alive and plain data.
    let deleter = unsafe { managed.read() }.deleter();
    if let Some(deleter) = deleter {
        // SAFETY: by 1 this is the only call.
        unsafe { deleter(managed.as_ptr()) }
    }
}

/// Releases a tensor that nobody took out of its capsule.
///
/// A capsule may die while an exception is on its way up, and the owner of the
/// tensor may run any code. So the exception is set aside meanwhile, and one
/// that the owner leaves behind is reported as unraisable.
///
/// # Safety
///
/// 1. Python calls it, as the destructor of a capsule that [`new`] made for `A`.
unsafe extern "C" fn destroy<A: Abi>(capsule: *mut PyObject) {
    // SAFETY: 1. By 1: Python calls destructors attached, with a living capsule.
    if !unsafe { is_unused::<A>(capsule) } {
        return;
    }
    // SAFETY: as above. A capsule's context is its maker's: it is what `new` set.
    let managed = unsafe { ffi::PyCapsule_GetContext(capsule) };
    let Some(managed) = NonNull::new(managed.cast::<A>()) else { return };
    // SAFETY: this thread is attached.
    let pending = unsafe { InFlight::set_aside() };
    // SAFETY: a capsule of ours with the unused name still owns its struct,
    // and dies now.
    unsafe { delete(managed) };
    // SAFETY: this thread is attached.
    unsafe { pending.restore() };
}

/// Whether the capsule still has the name under which its struct is owned by it.
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
    // A consumer may have put back the old name with a string of its own.
    // SAFETY: the name of a capsule is NULL or a C string that outlives it.
    !name.is_null() && unsafe { CStr::from_ptr(name) } == A::CAPSULE
}
