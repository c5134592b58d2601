//! The methods `__dlpack__` and `__dlpack_device__` of a class: [`ClassMethods`].
//!
//! The C functions of each class only call [`dlpack_of`] and [`device_of`], whose code is compiled
//! once.

use alloc::format;
use core::ffi::CStr;
use core::ptr;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyType;
use pyo3::{Borrowed, ffi as py_ffi};

use crate::backend::Backends;
use crate::device::Device;
use crate::error::Error;
use crate::exchange::TableError;
use crate::panic::catch_panic;
use crate::python::convert::{self, attached_object, exchange_error};
use crate::python::export::export_class::{ClassVTable, ExportClass};
use crate::python::export::export_plan::{Capsule, Plan};
use crate::python::export::method_def::{
    Arguments, Definition, FastcallWithKeywords, METH_FASTCALL, MethodDef, NoArguments, finish,
};
use crate::python::export::request::{Keywords, common_capsule, request};
use crate::python::export::to_capsule::{copy_instead, encapsulate, export};
use crate::python::interpreter::drop_attached::watch;
use crate::python::interpreter::{free_detached, in_first_interpreter};
use crate::stream_arg::StreamArg;

/// The properties of a class that do not depend on its Rust type.
pub(in crate::python) struct ClassMethods {
    /// Whether the class was declared `unsendable`.
    unsendable: bool,
    has_streams: bool,
    methods: [Definition; 2],
}

impl ClassMethods {
    pub(in crate::python) fn of<T: ExportClass, B: Backends>() -> Self {
        Self {
            unsendable: is_unsendable::<T>(),
            has_streams: B::HAS_STREAMS,
            methods: [dlpack_method::<T, B>(), dlpack_device_method::<T>()],
        }
    }

    /// Adds the methods to a class.
    pub(in crate::python) fn install(&self, class: &Bound<'_, PyType>) -> PyResult<()> {
        let py = class.py();
        in_first_interpreter(py)?;
        watch(py);
        let class_name = class.name()?;
        let class_name = class_name.to_string_lossy();
        if self.unsendable {
            return Err(PyTypeError::new_err(format!(
                "`{class_name}` cannot be `unsendable`: consumers of its tensors use them on any \
                 thread"
            )));
        }
        if self.has_streams {
            free_detached();
        }
        self.methods.iter().try_for_each(|method| method.add_to(class))
    }
}

/// Returns whether the class was declared `unsendable`.
///
/// PyO3 exposes this only through the type that checks the thread of such objects. The
/// name of that type is not a guarantee, so only the error message depends on it: an
/// [`ExportClass`] is `Send + Sync`, so any thread may read it.
fn is_unsendable<T: ExportClass>() -> bool {
    core::any::type_name::<T::ThreadChecker>().contains("::ThreadCheckerImpl")
}

/// The signature and the documentation of `__dlpack__`.
const DLPACK_DOC: &CStr =
    c"__dlpack__($self, /, *, stream=None, max_version=None, dl_device=None, copy=None)\n\
    --\n\n\
    Export the tensor as a DLPack capsule, for the from_dlpack() of a library.\n\n\
    stream: the stream of the device on which the consumer will use the tensor, as the\n\
    \x20   integer of the array API standard; None for the default stream, and on the CPU.\n\
    \x20   -1 exports without synchronization.\n\
    max_version: the newest version of DLPack that the consumer reads, such as (1, 0).\n\
    \x20   None, or a version below 1.0, exports the legacy struct, which has no READ_ONLY\n\
    \x20   flag: read-only memory is then copied.\n\
    dl_device: the device of the result, as __dlpack_device__() returns it. Another device\n\
    \x20   than the tensor's own needs a copy; only (1, 0), the CPU, is supported.\n\
    copy: True for a copy that only the consumer owns; False raises BufferError where a\n\
    \x20   copy is needed; None copies only where it is needed.";

/// The signature and the documentation of `__dlpack_device__`.
const DLPACK_DEVICE_DOC: &CStr = c"__dlpack_device__($self, /)\n\
    --\n\n\
    Return the DLPack device type and the device id: (1, 0) for the CPU, (2, 0) for the\n\
    first CUDA device.";

/// `__dlpack__` of a class. The export itself is compiled once for all classes, and its
/// arguments stay in registers; [`ObjectMethod`](super::method_def::ObjectMethod) would pass
/// them through memory.
fn dlpack_method<T: ExportClass, B: Backends>() -> Definition {
    let method = const {
        &MethodDef {
            name: c"__dlpack__".as_ptr(),
            function: dlpack::<T, B> as FastcallWithKeywords,
            flags: METH_FASTCALL | py_ffi::METH_KEYWORDS,
            doc: DLPACK_DOC.as_ptr(),
        }
    };
    // SAFETY: 1. `dlpack` checks the type of the object.
    unsafe { Definition::by_hand(c"__dlpack__", method) }
}

/// `__dlpack_device__` of a class.
fn dlpack_device_method<T: ExportClass>() -> Definition {
    let method = const {
        &MethodDef {
            name: c"__dlpack_device__".as_ptr(),
            function: dlpack_device::<T> as NoArguments,
            flags: py_ffi::METH_NOARGS,
            doc: DLPACK_DEVICE_DOC.as_ptr(),
        }
    };
    // SAFETY: 1. `dlpack_device` checks the type of the object.
    unsafe { Definition::by_hand(c"__dlpack_device__", method) }
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
    // SAFETY: 1 (Python calls it as a method): guaranteed by our caller's 1.
    unsafe { dlpack_of::<B>(object, arguments, positional, names, ClassVTable::of::<T>()) }
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
    // SAFETY: 1. and 2. By 1 this thread is attached, and the object is alive.
    let object: Borrowed<'_, 'static, PyAny> = unsafe { attached_object(object) };
    finish(object.py(), || device_of(object, ClassVTable::of::<T>()))
}

/// `__dlpack__` of an object of a class.
///
/// # Safety
///
/// 1. As for Python's call of a method by the convention `METH_FASTCALL | METH_KEYWORDS`,
///    of an object that may be one of that class.
unsafe extern "C" fn dlpack_of<B: Backends>(
    object: *mut py_ffi::PyObject,
    arguments: *const *mut py_ffi::PyObject,
    positional: py_ffi::Py_ssize_t,
    names: *mut py_ffi::PyObject,
    class: &'static ClassVTable,
) -> *mut py_ffi::PyObject {
    // SAFETY: 1. and 2. By 1 this thread is attached, and the object is alive.
    let object: Borrowed<'_, 'static, PyAny> = unsafe { attached_object(object) };
    let py = object.py();
    // SAFETY: 1. Guaranteed by our caller's 1.
    let arguments = unsafe { Arguments::new(arguments, positional, names) };
    let method = move || {
        let plain = common_capsule(py, arguments);
        let mut failed = None;
        if let (Some(kind), false) = (plain, B::HAS_STREAMS) {
            match (class.export_shared_object)(object, StreamArg::unspecified()) {
                Ok(Some(tensor)) => match encapsulate(py, tensor, kind) {
                    Ok(capsule) => return capsule,
                    Err(error) => failed = Some(error),
                },
                Ok(None) => {}
                Err(fault) => match *fault {
                    TableError::Tensor(error) => failed = Some(error),
                    fault => return raise(py, fault.into()),
                },
            }
        }
        let call = Call { object, arguments, class };
        dlpack_slow::<B>(py, call, plain, failed).unwrap_or_else(|error| raise(py, error))
    };
    // The closure returns a pointer, which stays in a register; a `PyResult` would not.
    catch_panic(method).unwrap_or_else(|| raise(py, convert::panicked()))
}

/// The arguments of a call of `__dlpack__`.
#[derive(Clone, Copy)]
struct Call<'a> {
    object: Borrowed<'a, 'static, PyAny>,
    arguments: Arguments<'a>,
    class: &'static ClassVTable,
}

/// The slow path of `__dlpack__`: for consumers that request more than a capsule of some
/// version, and for objects that the fast path cannot export. `failed` is the error of the fast
/// path, which a copy may avoid.
#[cold]
#[inline(never)]
fn dlpack_slow<B: Backends>(
    py: Python<'static>,
    call: Call<'_>,
    kind: Option<Capsule>,
    failed: Option<Error>,
) -> PyResult<*mut py_ffi::PyObject> {
    let object = (call.class.borrow)(call.object)?;
    let (plan, stream) = if let Some(kind) = kind {
        (Plan::of_common_call(kind), StreamArg::unspecified())
    } else {
        let keywords = keywords(py, call.arguments)?;
        let own = || object.value().device().map_err(exchange_error);
        let (request, stream) = request(&keywords, &|| Ok(B::stream_method(own()?)))?;
        let reaches = |own, to| B::serves(own) && (to == Device::CPU || B::serves(to));
        (request.decide(own, reaches)?, stream)
    };
    match failed {
        None => export::<B>(py, object, plan, stream),
        Some(error) => copy_instead::<B>(py, object.value(), plan, stream, error),
    }
}

/// Raises an exception, and returns NULL, as a method must then.
#[cold]
fn raise(py: Python<'_>, error: PyErr) -> *mut py_ffi::PyObject {
    convert::raise(py, error);
    ptr::null_mut()
}

/// `__dlpack_device__` of an object of a class.
fn device_of(
    object: Borrowed<'_, 'static, PyAny>,
    class: &'static ClassVTable,
) -> PyResult<*mut py_ffi::PyObject> {
    let device = (class.borrow)(object)?.value().device().map_err(exchange_error)?;
    let pair = (device.device_type().0, device.device_id()).into_pyobject(object.py())?;
    Ok(pair.into_ptr())
}

/// Reads the keywords of a call by `METH_FASTCALL | METH_KEYWORDS`.
fn keywords<'a>(py: Python<'static>, arguments: Arguments<'a>) -> PyResult<Keywords<'a, 'static>> {
    let positional = arguments.positional();
    if positional != 0 {
        return Err(PyTypeError::new_err(format!(
            "__dlpack__() takes no positional arguments ({positional} given)"
        )));
    }
    let mut keywords = Keywords::default();
    arguments.for_each_keyword(py, |name, value| keywords.set(name, value))?;
    Ok(keywords)
}
