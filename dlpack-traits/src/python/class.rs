//! `__dlpack__` and `__dlpack_device__` on a class: [`add_class`].

use alloc::format;
use core::ffi::{c_char, c_int};
use core::mem::offset_of;
use core::ptr;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::{Borrowed, PyClass, ffi as py_ffi};

use super::convert::{self, Keywords, attached};
use super::object::{borrow, share};
use super::protocol::{Capsule, Copy, Plan};
use super::{builder, capsule};
use crate::contain::contain;
use crate::device::Device;
use crate::error::Error;
use crate::export::{DLPackExport, copy_managed};
use crate::ffi::{DLManagedTensor, DLManagedTensorVersioned};
use crate::managed::{Abi, ManagedTensor};
use crate::stream::StreamArg;

/// A Rust type that can be a Python class of tensors: a `#[pyclass]` that
/// implements [`DLPackExport`] and is `Send + Sync`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a Python class of tensors",
    label = "must be a `#[pyclass]` that derives `DLPackExport` and is `Send + Sync`",
    note = "consumers read the tensor from other threads, and release it on any of them"
)]
pub trait ExportClass: PyClass + DLPackExport + Send + Sync {}

#[diagnostic::do_not_recommend]
impl<T: PyClass + DLPackExport + Send + Sync> ExportClass for T {}

/// Adds a class to a module and makes it a producer of tensors: [`install`],
/// then PyO3's own `add_class`.
///
/// # Errors
///
/// Those of [`install`], and of adding to the module.
pub fn add_class<T: ExportClass>(module: &Bound<'_, PyModule>) -> PyResult<()> {
    builder::class::<T>().add(module)
}

/// Makes a class a producer of tensors: gives it `__dlpack__`,
/// `__dlpack_device__` and the C exchange table. For classes that a declarative
/// `#[pymodule]` adds itself, call this in its `#[pymodule_init]`.
///
/// # Errors
///
/// `TypeError` for classes declared `unsendable` (their objects are bound to a
/// thread, tensors are not) or `immutable_type` (nothing can be added to them).
pub fn install<T: ExportClass>(py: Python<'_>) -> PyResult<()> {
    builder::class::<T>().install(py)
}

/// Gives a class `__dlpack__` and `__dlpack_device__`.
pub(super) fn install_methods<T: ExportClass>(py: Python<'_>) -> PyResult<()> {
    let class = py.get_type::<T>();
    // The constant of that name moved from one trait to another, by way of two
    // series in which both have it.
    let class_name = class.name()?;
    if is_unsendable::<T>() {
        return Err(PyTypeError::new_err(format!(
            "`{class_name}` cannot be `unsendable`: consumers of its tensors use them on any thread"
        )));
    }
    for (name, method) in [
        ("__dlpack__", (&raw const *Methods::<T>::DLPACK).cast()),
        ("__dlpack_device__", (&raw const *Methods::<T>::DLPACK_DEVICE).cast()),
    ] {
        let method: *const py_ffi::PyMethodDef = method;
        // SAFETY: this thread is attached; the class is alive; the method is
        // static, laid out as a `PyMethodDef`, and only read.
        let descriptor =
            unsafe { py_ffi::PyDescr_NewMethod(class.as_type_ptr(), method.cast_mut()) };
        // SAFETY: this thread is attached, and the result is a new reference or
        // NULL with an exception set.
        let descriptor = unsafe { Bound::from_owned_ptr_or_err(py, descriptor) }?;
        class.setattr(name, descriptor).map_err(|cause| {
            let error = PyTypeError::new_err(format!(
                "`{name}` cannot be added to `{class_name}`: a class of tensors must not be \
                 `immutable_type`"
            ));
            error.set_cause(py, Some(cause));
            error
        })?;
    }
    Ok(())
}

/// Whether the class was declared `unsendable`.
///
/// PyO3 does not say so but through the type that checks the thread of such
/// objects. Its name is no promise, so nothing rests on this but the sentence:
/// an object of such a class would refuse other threads by itself.
fn is_unsendable<T: ExportClass>() -> bool {
    core::any::type_name::<T::ThreadChecker>().contains("::ThreadCheckerImpl")
}

/// A `PyMethodDef`, with the calling convention in its type.
///
/// PyO3 hides the field for this convention below the stable ABI of 3.10,
/// though CPython has had it unchanged since 3.7.
#[repr(C)]
struct MethodDef<F> {
    name: *const c_char,
    function: F,
    flags: c_int,
    doc: *const c_char,
}

type FastcallWithKeywords = unsafe extern "C" fn(
    *mut py_ffi::PyObject,
    *const *mut py_ffi::PyObject,
    py_ffi::Py_ssize_t,
    *mut py_ffi::PyObject,
) -> *mut py_ffi::PyObject;

type NoArguments =
    unsafe extern "C" fn(*mut py_ffi::PyObject, *mut py_ffi::PyObject) -> *mut py_ffi::PyObject;

/// `METH_FASTCALL`, which `pyo3::ffi` hides as it hides the field.
const METH_FASTCALL: c_int = 0x80;

const _: () = {
    assert!(size_of::<MethodDef<NoArguments>>() == size_of::<py_ffi::PyMethodDef>());
    assert!(size_of::<MethodDef<FastcallWithKeywords>>() == size_of::<py_ffi::PyMethodDef>());
    assert!(align_of::<MethodDef<NoArguments>>() == align_of::<py_ffi::PyMethodDef>());
    assert!(offset_of!(MethodDef<NoArguments>, name) == offset_of!(py_ffi::PyMethodDef, ml_name));
    assert!(
        offset_of!(MethodDef<NoArguments>, function) == offset_of!(py_ffi::PyMethodDef, ml_meth)
    );
    assert!(offset_of!(MethodDef<NoArguments>, flags) == offset_of!(py_ffi::PyMethodDef, ml_flags));
    assert!(offset_of!(MethodDef<NoArguments>, doc) == offset_of!(py_ffi::PyMethodDef, ml_doc));
};

/// The two methods of a class, static for the life of the process.
struct Methods<T>(core::marker::PhantomData<T>);

impl<T: ExportClass> Methods<T> {
    const DLPACK: &'static MethodDef<FastcallWithKeywords> = &MethodDef {
        name: c"__dlpack__".as_ptr(),
        function: dlpack::<T>,
        flags: METH_FASTCALL | py_ffi::METH_KEYWORDS,
        doc: c"__dlpack__($self, /, *, stream=None, max_version=None, dl_device=None, copy=None)\n\
            --\n\n\
            Export the tensor for from_dlpack() as a DLPack capsule."
            .as_ptr(),
    };

    const DLPACK_DEVICE: &'static MethodDef<NoArguments> = &MethodDef {
        name: c"__dlpack_device__".as_ptr(),
        function: dlpack_device::<T>,
        flags: py_ffi::METH_NOARGS,
        doc: c"__dlpack_device__($self, /)\n\
            --\n\n\
            Return the DLPack device type and the device id."
            .as_ptr(),
    };
}

/// `__dlpack__`.
///
/// # Safety
///
/// 1. Python calls it, by the convention of its `MethodDef`.
unsafe extern "C" fn dlpack<T: ExportClass>(
    object: *mut py_ffi::PyObject,
    arguments: *const *mut py_ffi::PyObject,
    positional: py_ffi::Py_ssize_t,
    names: *mut py_ffi::PyObject,
) -> *mut py_ffi::PyObject {
    // SAFETY: by 1 this thread is attached. The reference that outlives the
    // call is put into a `PyOwner`, which attaches.
    let py: Python<'static> = unsafe { attached() };
    finish(py, || {
        // SAFETY: by 1 these are the arguments of a call.
        let keywords = unsafe { keywords(py, arguments, positional, names) }?;
        // SAFETY: by 1 the object is alive for the time of the call.
        let object = unsafe { borrow::<T>(py, object) }?;
        let (request, stream) = convert::request(&keywords)?;
        let plan = request.decide(|| Ok::<_, PyErr>(T::tensor(&object)?.device()))?;
        match plan.capsule {
            Capsule::Versioned => {
                let tensor = export::<DLManagedTensorVersioned, T>(object, plan, stream)?;
                // SAFETY: this thread is attached.
                Ok(unsafe { capsule::new(tensor) })
            }
            Capsule::Legacy => {
                let tensor = export::<DLManagedTensor, T>(object, plan, stream)?;
                // SAFETY: this thread is attached.
                Ok(unsafe { capsule::new(tensor) })
            }
        }
    })
}

/// `__dlpack_device__`.
///
/// # Safety
///
/// 1. Python calls it, by the convention of its `MethodDef`.
unsafe extern "C" fn dlpack_device<T: ExportClass>(
    object: *mut py_ffi::PyObject,
    _: *mut py_ffi::PyObject,
) -> *mut py_ffi::PyObject {
    // SAFETY: by 1 this thread is attached.
    let py: Python<'static> = unsafe { attached() };
    finish(py, || {
        // SAFETY: by 1 the object is alive for the time of the call.
        let object = unsafe { borrow::<T>(py, object) }?;
        let device = T::tensor(&object)?.device();
        let pair = (device.device_type().0, device.device_id()).into_pyobject(py)?;
        Ok(pair.into_ptr())
    })
}

/// Turns the outcome of a method into what Python expects: an object, or NULL
/// with an exception set.
fn finish(
    py: Python<'_>,
    method: impl FnOnce() -> PyResult<*mut py_ffi::PyObject>,
) -> *mut py_ffi::PyObject {
    match contain(method).unwrap_or_else(|| Err(convert::panicked())) {
        Ok(object) => object,
        Err(error) => {
            error.restore(py);
            ptr::null_mut()
        }
    }
}

/// The arguments of a call by `METH_FASTCALL | METH_KEYWORDS`.
///
/// # Safety
///
/// 1. They are such arguments, of a call that lasts for `'a`: `arguments` holds
///    `positional` objects and then one for each of `names`, a tuple or NULL.
unsafe fn keywords<'a>(
    py: Python<'static>,
    arguments: *const *mut py_ffi::PyObject,
    positional: py_ffi::Py_ssize_t,
    names: *mut py_ffi::PyObject,
) -> PyResult<Keywords<'a, 'static>> {
    if positional != 0 {
        return Err(PyTypeError::new_err(format!(
            "__dlpack__() takes no positional arguments ({positional} given)"
        )));
    }
    let mut keywords = Keywords::default();
    if names.is_null() {
        return Ok(keywords);
    }
    // SAFETY: by 1 `names` is a tuple.
    let count = unsafe { py_ffi::PyTuple_Size(names) };
    for index in 0..count {
        // SAFETY: the index is in range.
        let name = unsafe { py_ffi::PyTuple_GetItem(names, index) };
        // SAFETY: by 1 the name lives for `'a`.
        let name = unsafe { Borrowed::from_ptr(py, name) };
        // SAFETY: by 1 there is a value for each name.
        let value = unsafe { arguments.offset(index) };
        // SAFETY: as above.
        let value = unsafe { value.read() };
        // SAFETY: by 1 the value lives for `'a`.
        let value = unsafe { Borrowed::from_ptr(py, value) };
        keywords.set(name, value)?;
    }
    Ok(keywords)
}

/// Exports the tensor of an object, which stays usable.
fn export<A: Abi, T: ExportClass>(
    object: PyRef<'static, T>,
    plan: Plan,
    stream: StreamArg<'_>,
) -> PyResult<ManagedTensor<A>> {
    let tensor: &T = &object;
    if plan.copy == Copy::Always {
        plan.may_copy(tensor.tensor()?.device())?;
        return Ok(copy_managed(tensor, stream)?);
    }
    if !A::HAS_FLAGS {
        // What has no flags cannot say "read-only", but a copy need not.
        let view = tensor.tensor()?;
        if view.is_read_only() {
            if plan.copy == Copy::Never || view.device() != Device::CPU {
                return Err(Error::ReadOnlyLegacy.into());
            }
            return Ok(copy_managed(tensor, stream)?);
        }
    }
    Ok(share(object, stream)?)
}
