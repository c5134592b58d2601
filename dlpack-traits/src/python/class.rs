//! `__dlpack__` and `__dlpack_device__` on a class: [`add_class`].

use alloc::format;
use pyo3::exceptions::{PyImportError, PyTypeError};
use pyo3::prelude::*;
use pyo3::{PyClass, ffi as py_ffi};

use super::convert::{self, Keywords, attached};
use super::detached::{detached, free_detached};
use super::method::{
    FastcallWithKeywords, METH_FASTCALL, MethodDef, NoArguments, add_to_class, finish,
    for_each_keyword,
};
use super::object::borrow;
use super::owner::PyOwner;
use super::protocol::{Capsule, Plan};
use super::{builder, capsule};
use crate::backend::Backends;
use crate::export::{DLPackExport, into_managed};
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
/// `ImportError` in an interpreter that is not the first of its process: a tensor is
/// released on any thread, which can attach to that one alone.
pub fn install<T: ExportClass>(py: Python<'_>) -> PyResult<()> {
    builder::class::<T>().install(py)
}

/// Gives a class `__dlpack__` and `__dlpack_device__`.
pub(super) fn install_methods<T: ExportClass, B: Backends>(py: Python<'_>) -> PyResult<()> {
    in_first_interpreter(py)?;
    let class = py.get_type::<T>();
    // The constant of that name moved from one trait to another, by way of two
    // series in which both have it.
    let class_name = class.name()?;
    if is_unsendable::<T>() {
        return Err(PyTypeError::new_err(format!(
            "`{class_name}` cannot be `unsendable`: consumers of its tensors use them on any thread"
        )));
    }
    if B::HAS_STREAMS {
        free_detached(py);
    }
    for (name, method) in [
        ("__dlpack__", Methods::<T, B>::DLPACK.as_ptr()),
        ("__dlpack_device__", Methods::<T, B>::DLPACK_DEVICE.as_ptr()),
    ] {
        // SAFETY: this thread is attached; the class is alive; the method is
        // static, laid out as a `PyMethodDef`, and only read.
        let descriptor =
            unsafe { py_ffi::PyDescr_NewMethod(class.as_type_ptr(), method.cast_mut()) };
        // SAFETY: this thread is attached, and the result is a new reference or
        // NULL with an exception set.
        let descriptor = unsafe { Bound::from_owned_ptr_or_err(py, descriptor) }?;
        add_to_class(&class, name, descriptor)?;
    }
    Ok(())
}

/// Refuses all interpreters but the first: to the others `PyGILState_Ensure`, by which
/// deleters attach, cannot attach, and waits for ever.
fn in_first_interpreter(py: Python<'_>) -> PyResult<()> {
    // SAFETY: this thread is attached.
    let interpreter = unsafe { py_ffi::PyInterpreterState_Get() };
    // SAFETY: as above, and the thread's interpreter is alive.
    match unsafe { py_ffi::PyInterpreterState_GetID(interpreter) } {
        0 => Ok(()),
        -1 => Err(PyErr::fetch(py)),
        _ => Err(PyImportError::new_err(
            "classes of tensors exist in the first interpreter of a process only: import this \
             module there",
        )),
    }
}

/// Whether the class was declared `unsendable`.
///
/// PyO3 does not say so but through the type that checks the thread of such
/// objects. Its name is no promise, so nothing rests on this but the sentence:
/// an object of such a class would refuse other threads by itself.
fn is_unsendable<T: ExportClass>() -> bool {
    core::any::type_name::<T::ThreadChecker>().contains("::ThreadCheckerImpl")
}

/// The two methods of a class, static for the life of the process.
struct Methods<T, B>(core::marker::PhantomData<(T, B)>);

impl<T: ExportClass, B: Backends> Methods<T, B> {
    const DLPACK: &'static MethodDef<FastcallWithKeywords> = &MethodDef {
        name: c"__dlpack__".as_ptr(),
        function: dlpack::<T, B>,
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
unsafe extern "C" fn dlpack<T: ExportClass, B: Backends>(
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
        let plan = request.decide(|| Ok::<_, PyErr>(T::tensor(&object)?.device()), B::serves)?;
        match plan.capsule {
            Capsule::Versioned => {
                let tensor = export::<DLManagedTensorVersioned, T, B>(object, plan, stream)?;
                // SAFETY: this thread is attached.
                Ok(unsafe { capsule::new(tensor) })
            }
            Capsule::Legacy => {
                let tensor = export::<DLManagedTensor, T, B>(object, plan, stream)?;
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
    // SAFETY: 1.
    unsafe {
        for_each_keyword(py, arguments, names, |name, value| keywords.set(name, value))?;
    }
    Ok(keywords)
}

/// Exports the tensor of an object, which stays usable.
fn export<A: Abi, T: ExportClass, B: Backends>(
    object: PyRef<'static, T>,
    plan: Plan,
    stream: StreamArg<'_>,
) -> PyResult<ManagedTensor<A>> {
    let tensor: &T = &object;
    let exported = if B::HAS_STREAMS {
        // The host may have to wait for a device.
        detached(object.py(), || plan.export::<A, B>(tensor, stream))
    } else {
        plan.export::<A, B>(tensor, stream)
    };
    match exported? {
        Some(tensor) => Ok(tensor),
        // The object itself is the only owner that there is.
        None => Ok(into_managed(PyOwner::new(object), stream)?),
    }
}
