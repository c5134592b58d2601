//! Puts managed tensors into Python capsules, and takes tensors out of them, exactly once. This
//! module calls functions of the stable ABI only.

use alloc::format;
use core::ffi::{CStr, c_char, c_void};
use core::marker::PhantomData;
use core::ptr::{self, NonNull};
use std::sync::{Mutex, PoisonError};

use pyo3::Borrowed;
use pyo3::exceptions::PyValueError;
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;

use crate::ffi::{DLManagedTensor, DLManagedTensorVersioned};
use crate::import::{ImportPolicy, ImportedTensor};
use crate::managed::{Abi, ManagedStruct, RawManaged};
use crate::python::convert::{attached_object, clear};
use crate::python::interpreter::drop_attached::adopt;
use crate::python::interpreter::pending_exception::PendingAside;

/// The name of a capsule that keeps a tensor alive. No consumer takes a tensor from it.
const OWNER: &CStr = c"dlpack_traits.owner";

/// Puts a tensor into a capsule, from which a consumer may take it.
///
/// Returns NULL with an exception set if Python cannot allocate the capsule; the tensor
/// is then released.
#[inline]
pub(super) fn new<A: Abi>(py: Python<'_>, tensor: RawManaged<A>) -> *mut PyObject {
    named(py, tensor, A::CAPSULE, destroy::<A, false>)
}

/// Puts a tensor into a capsule that releases it when it is destroyed. An array with this
/// capsule as its base is assumed to be on the CPU, so the tensor must be.
///
/// # Errors
///
/// `MemoryError`; the tensor is then released.
pub(super) fn owner(py: Python<'_>, tensor: RawManaged) -> PyResult<Bound<'_, PyAny>> {
    let capsule = named(py, tensor, OWNER, destroy::<DLManagedTensorVersioned, true>);
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
        let _no_memory = PendingAside::reporting(py);
        drop(tensor);
    } else {
        // The capsule owns it from here on.
        let _ = tensor.into_raw();
        // The destructor reads the context, because `PyCapsule_GetContext` compares no name.
        // It can fail only if the object is not a capsule.
        // SAFETY: this thread is attached, and the capsule was just made.
        unsafe { ffi::PyCapsule_SetContext(capsule, managed) };
    }
    capsule
}

/// The destructor of capsules: releases the tensor. That of a capsule without `IS_OWNER` is
/// released if no consumer took it.
///
/// A capsule may be destroyed while an exception is set, and dropping the owner of the
/// tensor may run any code. The exception is therefore set aside during the drop. An
/// exception that the owner leaves behind is reported as unraisable.
///
/// # Safety
///
/// 1. Python calls it, as the destructor of a capsule that [`new`] made for `A`, or [`owner`] with
///    `IS_OWNER`.
unsafe extern "C" fn destroy<A: Abi, const IS_OWNER: bool>(capsule: *mut PyObject) {
    // SAFETY: 1. and 2. By 1 this thread is attached, and the capsule is alive.
    let capsule: Borrowed<'_, '_, PyAny> = unsafe { attached_object(capsule) };
    if !IS_OWNER && !is_unused::<A>(&capsule) {
        return;
    }
    // SAFETY: this thread is attached, and the capsule is alive. Only the maker of a capsule
    // sets its context: it is what `named` set.
    let managed = unsafe { ffi::PyCapsule_GetContext(capsule.as_ptr()) };
    let Some(managed) = NonNull::new(managed.cast::<A>()) else { return };
    let _pending = PendingAside::reporting(capsule.py());
    // SAFETY: 1 (the struct of a handle): a capsule of this crate owns its struct as long as no
    // consumer took it, and the capsule is being destroyed.
    drop(unsafe { RawManaged::from_raw(managed) });
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

/// Whether every interpreter that can load this module has a permanent GIL.
///
/// It is decided at compile time. A build for free-threaded interpreters has another
/// `PyObject`: one with more fields than a reference count and a type, or with unknown
/// fields, as in the stable ABI `abi3t`. An interpreter without a GIL loads no module of
/// the first kind. An interpreter with a GIL may load an `abi3t` module, which then locks
/// without need.
/// `sys._is_gil_enabled` is not called: Python code can replace it, and its result
/// changes while an extension module is imported.
const HAS_GIL: bool = size_of::<ffi::PyObject>() == 2 * size_of::<usize>();

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
pub(super) fn take(capsule: &Bound<'_, PyAny>, policy: ImportPolicy) -> PyResult<ImportedTensor> {
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
    let Some(managed) = pointer_named(capsule, A::CAPSULE) else { return Ok(None) };
    // SAFETY: this thread is attached, the object is a capsule, and the new name is static.
    if unsafe { ffi::PyCapsule_SetName(object, A::USED_CAPSULE.as_ptr()) } != 0 {
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
