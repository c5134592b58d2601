//! Puts managed tensors into Python capsules. This module calls functions of the stable
//! ABI only.

use core::ffi::{CStr, c_char, c_void};
use core::marker::PhantomData;
use core::ptr::{self, NonNull};

use pyo3::Borrowed;
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;

use super::convert::attached_object;
use crate::ffi::DLManagedTensorVersioned;
use crate::managed::{Abi, RawManaged};
use crate::python::interpreter::pending_exception::SavedError;

/// The name of a capsule that keeps a tensor alive. No consumer takes a tensor from it.
const OWNER: &CStr = c"dlpack_traits.owner";

/// Puts a tensor into a capsule, from which a consumer may take it.
///
/// Returns NULL with an exception set if Python cannot allocate the capsule; the tensor
/// is then released.
#[inline]
pub(super) fn new<A: Abi>(py: Python<'_>, tensor: RawManaged<A>) -> *mut PyObject {
    let managed = tensor.as_ptr().cast();
    let capsule = named(py, tensor, A::CAPSULE, destroy::<A>);
    if !capsule.is_null() {
        // The destructor reads the context, because `PyCapsule_GetContext` compares no name.
        // It can fail only if the object is not a capsule.
        // SAFETY: this thread is attached, and the capsule was just made.
        unsafe { ffi::PyCapsule_SetContext(capsule, managed) };
    }
    capsule
}

/// Puts a tensor into a capsule that releases it when it is destroyed. An array with this
/// capsule as its base is assumed to be on the CPU, so the tensor must be.
///
/// # Errors
///
/// `MemoryError`; the tensor is then released.
pub(super) fn owner(py: Python<'_>, tensor: RawManaged) -> PyResult<Bound<'_, PyAny>> {
    let capsule = named(py, tensor, OWNER, release);
    // SAFETY: it is a new reference, or NULL with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(py, capsule) }
}

/// Whether an object is a capsule that [`owner`] made, in this module or in another one.
pub(super) fn is_owner(object: &Bound<'_, PyAny>) -> bool {
    pointer_named(object, OWNER).is_some()
}

/// Puts a tensor into a capsule. Returns NULL with an exception set if Python cannot allocate
/// the capsule; the tensor is then released.
#[inline(always)]
fn named<A: Abi>(
    py: Python<'_>,
    tensor: RawManaged<A>,
    name: &'static CStr,
    destructor: unsafe extern "C" fn(*mut PyObject),
) -> *mut PyObject {
    let managed = tensor.as_ptr().cast();
    // SAFETY: this thread is attached. The name is static, the pointer is not NULL, and the
    // destructor is one for capsules with a tensor.
    let capsule = unsafe { ffi::PyCapsule_New(managed, name.as_ptr(), Some(destructor)) };
    if capsule.is_null() {
        let no_memory = SavedError::set_aside(py);
        drop(tensor);
        no_memory.restore(py);
    } else {
        // The capsule owns it from here on.
        let _ = tensor.into_raw();
    }
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
    // SAFETY: 1. and 2. By 1 this thread is attached, and the capsule is alive.
    let capsule: Borrowed<'_, '_, PyAny> = unsafe { attached_object(capsule) };
    if !is_unused::<A>(&capsule) {
        return;
    }
    // SAFETY: this thread is attached, and the capsule is alive. Only the maker of a capsule
    // sets its context: it is what `new` set.
    let managed = unsafe { ffi::PyCapsule_GetContext(capsule.as_ptr()) };
    let Some(managed) = NonNull::new(managed.cast::<A>()) else { return };
    let pending = SavedError::set_aside(capsule.py());
    // SAFETY: 1 (the struct of a handle): a capsule of this crate that still has the unused
    // name owns its struct, and the capsule is being destroyed.
    drop(unsafe { RawManaged::from_raw(managed) });
    pending.restore(capsule.py());
}

/// Releases the tensor of a capsule that [`owner`] made: its destructor.
///
/// # Safety
///
/// 1. Python calls it, as the destructor of a capsule that [`owner`] made.
unsafe extern "C" fn release(capsule: *mut PyObject) {
    // SAFETY: 1. and 2. By 1 this thread is attached, and the capsule is alive.
    let capsule: Borrowed<'_, '_, PyAny> = unsafe { attached_object(capsule) };
    // An exception is set aside as in `destroy`.
    let pending = SavedError::set_aside(capsule.py());
    // SAFETY: this thread is attached, and by 1 the object is a capsule, which has this name.
    let managed = unsafe { ffi::PyCapsule_GetPointer(capsule.as_ptr(), OWNER.as_ptr()) };
    let Some(managed) = NonNull::new(managed) else { return pending.restore(capsule.py()) };
    // SAFETY: 1 (the struct of a handle): only `owner` gives a capsule this destructor, with the
    // struct of a handle that it consumed, and the capsule is being destroyed.
    drop(unsafe { RawManaged::<DLManagedTensorVersioned>::from_raw(managed.cast()) });
    pending.restore(capsule.py());
}

/// Returns whether the capsule still has the name that says that it owns its struct.
#[inline]
fn is_unused<A: Abi>(capsule: &Bound<'_, PyAny>) -> bool {
    CapsuleName::of(capsule).is_some_and(|name| {
        // A consumer may have restored the original name with a string of its own.
        ptr::eq(name.0.as_ptr(), A::CAPSULE.as_ptr()) || name.text() == A::CAPSULE
    })
}

/// The name of a capsule, which its maker keeps alive as long as the capsule.
#[derive(Clone, Copy)]
pub(super) struct CapsuleName<'a>(NonNull<c_char>, PhantomData<&'a CStr>);

impl<'a> CapsuleName<'a> {
    /// Returns `None` for a capsule without a name, and for any other object, then with an
    /// exception set.
    #[inline]
    pub(super) fn of(object: &'a Bound<'_, PyAny>) -> Option<Self> {
        // SAFETY: this thread is attached, and the object is alive.
        let name = unsafe { ffi::PyCapsule_GetName(object.as_ptr()) };
        Some(Self(NonNull::new(name.cast_mut())?, PhantomData))
    }

    #[inline]
    pub(super) fn text(self) -> &'a CStr {
        // SAFETY: the name of a capsule is a C string that outlives it.
        unsafe { CStr::from_ptr(self.0.as_ptr()) }
    }
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
