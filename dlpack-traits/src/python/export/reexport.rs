//! Python objects that export imported memory again: [`offer`].
//!
//! A `from_dlpack` takes an object with the two methods of the protocol, not a capsule. The
//! object of this module is of a type that is created once, and has a field for the
//! tensor. With a new namespace object and two closures for each tensor, a function that
//! returns an array took 3 microseconds more.

use alloc::boxed::Box;
use core::ffi::{c_int, c_uint, c_ulong, c_void};
use core::mem::offset_of;
use core::ptr;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use pyo3::{Borrowed, ffi as py_ffi};

use crate::backend::Cpu;
use crate::exchange::{TableError, refuse};
use crate::import::ImportedStorage;
use crate::managed::RawManaged;
use crate::python::convert::attached;
use crate::python::export::class_methods::{DLPACK_DEVICE_DOC, DLPACK_DOC, Method, add_methods};
use crate::python::export::dlpack_methods;
use crate::python::export::dyn_export::DynExport;
use crate::python::export::erased_ref::{
    ClassVTable, ErasedRef, Reference, drop_reference, share_as,
};
use crate::python::export::method_def::{
    FastcallWithKeywords, METH_FASTCALL, MethodDef, NoArguments,
};
use crate::python::export::protocol::Capsule;
use crate::python::interpreter::pending_exception::SavedError;
use crate::stream::StreamArg;

/// Makes an object with the two methods of the protocol, for a `from_dlpack` that does
/// not accept capsules.
pub(in crate::python) fn offer(
    py: Python<'_>,
    tensor: ImportedStorage,
) -> PyResult<Bound<'_, PyAny>> {
    let class = if let Some(class) = CLASS.get(py) {
        class
    } else {
        // Created outside of the lock of `CLASS`, because Python code may run meanwhile.
        let class = create_class(py)?;
        CLASS.get_or_init(py, || class)
    };
    let class = class.bind(py);
    let tensor = Box::new(tensor);
    // SAFETY: this thread is attached, and the class is alive.
    let object = unsafe { py_ffi::PyType_GenericAlloc(class.as_type_ptr(), 0) };
    // SAFETY: the result is a new reference, or NULL with an exception set.
    let object = unsafe { Bound::from_owned_ptr_or_err(py, object) }?;
    // SAFETY: the object is of this type, and no one else has a reference to it. The
    // allocation is zeroed, so no value is overwritten.
    unsafe { field_of(object.as_ptr()).write(Some(tensor)) };
    Ok(object)
}

/// The type of the objects.
static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// An object of the type. Zero bytes in the field are `None`: Python allocates objects
/// with such bytes.
#[repr(C)]
struct Offered {
    head: py_ffi::PyObject,
    tensor: Option<Box<ImportedStorage>>,
}

const _: () = {
    assert!(offset_of!(Offered, tensor) >= size_of::<py_ffi::PyObject>());
    assert!(size_of::<Option<Box<ImportedStorage>>>() == size_of::<usize>());
    // `PyType_GenericAlloc` aligns objects to at least this.
    assert!(align_of::<Offered>() <= align_of::<u64>());
};

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "an object header and a pointer are a few words"
)]
const BASIC_SIZE: c_int = size_of::<Offered>() as c_int;

#[allow(clippy::cast_possible_truncation, reason = "the flags of types are 32 bits")]
const FLAGS: c_uint = (py_ffi::Py_TPFLAGS_DEFAULT | DISALLOW_INSTANTIATION) as c_uint;

/// `Py_TPFLAGS_DISALLOW_INSTANTIATION`, which `pyo3::ffi` hides below the stable ABI of
/// 3.10.
const DISALLOW_INSTANTIATION: c_ulong = 1 << 7;

/// Creates the type of the objects.
fn create_class(py: Python<'_>) -> PyResult<Py<PyType>> {
    let dealloc: py_ffi::destructor = dealloc;
    let mut slots = [
        py_ffi::PyType_Slot { slot: py_ffi::Py_tp_dealloc, pfunc: dealloc as *mut c_void },
        py_ffi::PyType_Slot { slot: 0, pfunc: ptr::null_mut() },
    ];
    let mut spec = py_ffi::PyType_Spec {
        name: c"dlpack_traits.Tensor".as_ptr(),
        basicsize: BASIC_SIZE,
        itemsize: 0,
        flags: FLAGS,
        slots: slots.as_mut_ptr(),
    };
    // SAFETY: this thread is attached; the slots end with a zero; the name is static, and
    // Python copies the rest. The type has the size of `Offered`, and a function that frees
    // objects of this size.
    let class = unsafe { py_ffi::PyType_FromSpec(&raw mut spec) };
    // SAFETY: the result is a new reference, or NULL with an exception set.
    let class = unsafe { Bound::from_owned_ptr_or_err(py, class) }?.cast_into::<PyType>()?;
    // SAFETY: 1. They are definitions of this module, for objects of this class.
    unsafe { add_methods(&class, &METHODS) }?;
    Ok(class.unbind())
}

const METHODS: [Method; 2] =
    [("__dlpack__", DLPACK.as_ptr()), ("__dlpack_device__", DLPACK_DEVICE.as_ptr())];

const DLPACK: &MethodDef<FastcallWithKeywords> = &MethodDef {
    name: c"__dlpack__".as_ptr(),
    function: dlpack,
    flags: METH_FASTCALL | py_ffi::METH_KEYWORDS,
    doc: DLPACK_DOC.as_ptr(),
};

const DLPACK_DEVICE: &MethodDef<NoArguments> = &MethodDef {
    name: c"__dlpack_device__".as_ptr(),
    function: dlpack_device,
    flags: py_ffi::METH_NOARGS,
    doc: DLPACK_DEVICE_DOC.as_ptr(),
};

/// `__dlpack__`.
///
/// # Safety
///
/// 1. Python calls it, by the convention of its `MethodDef`.
unsafe extern "C" fn dlpack(
    object: *mut py_ffi::PyObject,
    arguments: *const *mut py_ffi::PyObject,
    positional: py_ffi::Py_ssize_t,
    names: *mut py_ffi::PyObject,
) -> *mut py_ffi::PyObject {
    // SAFETY: 1 (Python calls it as a method): guaranteed by our caller's 1.
    unsafe { dlpack_methods::dlpack::<Cpu>(object, arguments, positional, names, &OFFERED) }
}

/// `__dlpack_device__`.
///
/// # Safety
///
/// 1. Python calls it, by the convention of its `MethodDef`.
unsafe extern "C" fn dlpack_device(
    object: *mut py_ffi::PyObject,
    _: *mut py_ffi::PyObject,
) -> *mut py_ffi::PyObject {
    // SAFETY: 1 (Python calls it as a method): guaranteed by our caller's 1.
    unsafe { dlpack_methods::dlpack_device(object, &OFFERED) }
}

/// Frees an object, and releases the tensor.
///
/// # Safety
///
/// 1. Python calls it to free an object of the type.
unsafe extern "C" fn dealloc(object: *mut py_ffi::PyObject) {
    // SAFETY: 1. By 1 this thread is attached.
    let py: Python<'_> = unsafe { attached() };
    let pending = SavedError::set_aside(py);
    // SAFETY: by 1 the object is of this type, and no one else has a reference to it. A
    // deleter catches the panics of an owner.
    unsafe { field_of(object).drop_in_place() };
    pending.restore(py);
    // SAFETY: by 1 the object is alive.
    let class = unsafe { py_ffi::Py_TYPE(object) };
    // SAFETY: `PyType_GenericAlloc` allocated it without a header of the garbage collector.
    unsafe { py_ffi::PyObject_Free(object.cast()) };
    // SAFETY: an object of a heap type owns a reference to its type.
    unsafe { py_ffi::Py_DECREF(class.cast()) };
}

/// The functions of the type.
static OFFERED: ClassVTable =
    ClassVTable { borrow, share_or, value, drop: drop_reference::<Bound<'static, PyAny>> };

/// The address of the field of an object of the type.
fn field_of(object: *mut py_ffi::PyObject) -> *mut Option<Box<ImportedStorage>> {
    object.wrapping_byte_add(offset_of!(Offered, tensor)).cast()
}

/// Returns the tensor of an object.
fn tensor_of<'a>(object: Borrowed<'a, '_, PyAny>) -> PyResult<&'a ImportedStorage> {
    let class = CLASS.get(object.py());
    let tensor = if class.is_some_and(|class| object.get_type_ptr().cast() == class.as_ptr()) {
        // SAFETY: the object is of the type. It is alive for `'a`, and only `dealloc`
        // changes the field.
        unsafe { &*field_of(object.as_ptr()) }.as_deref()
    } else {
        None
    };
    // `offer` makes all objects of the type, each with a tensor.
    tensor.ok_or_else(|| PyTypeError::new_err("the object has no tensor"))
}

/// Takes a reference to an object: [`ClassVTable::borrow`].
fn borrow(object: Borrowed<'_, 'static, PyAny>) -> PyResult<ErasedRef> {
    tensor_of(object)?;
    // SAFETY: 1. The functions of `OFFERED` take a `Bound`. The tensor is in a box that the
    // object keeps, and is never borrowed mutably before the object is freed.
    Ok(unsafe { ErasedRef::of_reference(object.to_owned(), &OFFERED) })
}

/// Exports the tensor of an object: [`ClassVTable::share_or`].
fn share_or(
    object: Borrowed<'_, 'static, PyAny>,
    kind: Capsule,
    consumer: StreamArg<'_>,
    refused: &mut Option<TableError<PyErr>>,
) -> Option<RawManaged> {
    match tensor_of(object) {
        Ok(tensor) => share_as(tensor, kind, consumer, refused),
        Err(error) => {
            refuse(refused, TableError::Host(error));
            None
        }
    }
}

/// # Safety
///
/// 1. `reference` contains the `Bound` that [`borrow`] took, which was not dropped.
unsafe fn value(reference: &Reference) -> &dyn DynExport {
    // SAFETY: by 1 it is initialised.
    let object = unsafe { &*reference.as_ptr().cast::<Bound<'static, PyAny>>() };
    match tensor_of(object.as_borrowed()) {
        Ok(tensor) => tensor,
        Err(_) => unreachable!("`borrow` has found the tensor"),
    }
}
