//! `__dlpack__` and `__dlpack_device__` on a class: [`add_class`].

use alloc::format;
use core::ptr;

use pyo3::exceptions::{PyImportError, PyTypeError};
use pyo3::prelude::*;
use pyo3::{PyClass, ffi as py_ffi};

use super::convert::{self, Keywords, attached};
use super::detached::{detached, free_detached};
use super::export::{Instead, is_large};
use super::method::{
    FastcallWithKeywords, METH_FASTCALL, MethodDef, NoArguments, add_to_class, finish,
    for_each_keyword,
};
use super::object::borrow;
use super::owner::PyOwner;
use super::protocol::{Capsule, Plan};
use super::{builder, capsule};
use crate::backend::Backends;
use crate::contain::contain;
use crate::error::Error;
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
    let method = move || {
        let plain = if positional == 0 {
            // SAFETY: by 1 these are the arguments of a call, without any before the
            // keywords.
            unsafe { convert::plain(py, arguments, names) }
        } else {
            None
        };
        // SAFETY: by 1 the object is alive for the time of the call.
        let object = match unsafe { borrow::<T>(py, object) } {
            Ok(object) => object,
            Err(error) => return raise(py, error),
        };
        let stream = StreamArg::unspecified();
        match plain {
            Some(Capsule::Versioned) => export::<DLManagedTensorVersioned, T, B>(
                object,
                Plan::plain(Capsule::Versioned),
                stream,
            ),
            Some(Capsule::Legacy) => {
                export::<DLManagedTensor, T, B>(object, Plan::plain(Capsule::Legacy), stream)
            }
            None => {
                // SAFETY: as above.
                let keywords = unsafe { keywords(py, arguments, positional, names) };
                match keywords.and_then(|keywords| asked::<T, B>(object, &keywords)) {
                    Ok(capsule) => capsule,
                    Err(error) => raise(py, error),
                }
            }
        }
    };
    // What a method returns stays in a register, which a `PyResult` would not.
    contain(method).unwrap_or_else(|| raise(py, convert::panicked()))
}

/// `__dlpack__` for consumers who ask for more than a capsule of some version.
#[cold]
#[inline(never)]
fn asked<T: ExportClass, B: Backends>(
    object: PyRef<'static, T>,
    keywords: &Keywords<'_, '_>,
) -> PyResult<*mut py_ffi::PyObject> {
    let (request, stream) = convert::request(keywords)?;
    let plan = request.decide(|| Ok::<_, PyErr>(T::tensor(&object)?.device()), B::serves)?;
    Ok(match plan.capsule {
        Capsule::Versioned => export::<DLManagedTensorVersioned, T, B>(object, plan, stream),
        Capsule::Legacy => export::<DLManagedTensor, T, B>(object, plan, stream),
    })
}

/// A capsule with the tensor of an object, which stays usable; NULL with an
/// exception set if there is none.
///
/// One function for all that export, as it is large, with a result that stays in
/// a register.
#[inline(never)]
fn export<A: Abi, T: ExportClass, B: Backends>(
    object: PyRef<'static, T>,
    plan: Plan,
    stream: StreamArg<'_>,
) -> *mut py_ffi::PyObject {
    let py = object.py();
    let tensor: &T = &object;
    let shared = if B::HAS_STREAMS {
        // The host may have to wait for a device.
        detached(py, || plan.share::<A>(tensor, stream))
    } else {
        plan.share::<A>(tensor, stream)
    };
    match shared {
        // SAFETY: this thread is attached.
        Ok(tensor) => unsafe { capsule::new(tensor) },
        Err(instead) => export_otherwise::<A, T, B>(object, plan, stream, instead),
    }
}

/// [`export`] of what is not shared.
#[cold]
#[inline(never)]
fn export_otherwise<A: Abi, T: ExportClass, B: Backends>(
    object: PyRef<'static, T>,
    plan: Plan,
    stream: StreamArg<'_>,
    instead: Instead,
) -> *mut py_ffi::PyObject {
    let py = object.py();
    let tensor: &T = &object;
    let exported = match instead {
        Instead::Alone if A::HAS_FLAGS || !is_read_only(tensor) => {
            // The object itself is the only owner that there is.
            into_managed::<A, _>(PyOwner::new(object), stream).map_err(PyErr::from)
        }
        Instead::Alone => match plan.instead(tensor, Error::ReadOnlyLegacy) {
            Instead::Copy => copied::<A, T, B>(py, tensor, plan, stream),
            _ => Err(Error::ReadOnlyLegacy.into()),
        },
        Instead::Copy => copied::<A, T, B>(py, tensor, plan, stream),
        Instead::Refused(error) => Err(error.into()),
    };
    match exported {
        // SAFETY: this thread is attached.
        Ok(tensor) => unsafe { capsule::new(tensor) },
        Err(error) => raise(py, error),
    }
}

/// Whether consumers would have to be told not to write.
fn is_read_only(tensor: &impl DLPackExport) -> bool {
    tensor.tensor().is_ok_and(|view| view.is_read_only())
}

/// Exports a copy, which other threads of Python do not wait for.
fn copied<A: Abi, T: ExportClass, B: Backends>(
    py: Python<'_>,
    tensor: &T,
    plan: Plan,
    stream: StreamArg<'_>,
) -> PyResult<ManagedTensor<A>> {
    if B::HAS_STREAMS || is_large(tensor) {
        detached(py, || plan.copied::<A, B>(tensor, stream))
    } else {
        plan.copied::<A, B>(tensor, stream)
    }
}

/// Raises an exception; NULL, as Python wants it then.
#[cold]
fn raise(py: Python<'_>, error: PyErr) -> *mut py_ffi::PyObject {
    convert::raise(py, error);
    ptr::null_mut()
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
#[cold]
#[inline(never)]
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
