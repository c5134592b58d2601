//! The methods `__dlpack__` and `__dlpack_device__` of a class: [`ClassMethods`].

use alloc::format;
use core::ffi::CStr;
use core::marker::PhantomData;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyType;
use pyo3::{Borrowed, ffi as py_ffi};

use crate::backend::Backends;
use crate::python::export::dlpack_methods;
use crate::python::export::erased_ref::ClassVTable;
use crate::python::export::export_class::ExportClass;
use crate::python::export::method_def::{
    Definition, FastcallWithKeywords, METH_FASTCALL, MethodDef, PlainMethod,
};
use crate::python::interpreter::exit::watch;
use crate::python::interpreter::free_detached;
use crate::python::interpreter::in_first_interpreter;

/// The properties of a class that do not depend on its Rust type.
pub(in crate::python) struct ClassMethods {
    /// Whether the class was declared `unsendable`.
    pub(in crate::python) unsendable: bool,
    pub(in crate::python) has_streams: bool,
    pub(in crate::python) methods: [Definition; 2],
}

impl ClassMethods {
    pub(in crate::python) fn of<T: ExportClass, B: Backends>() -> Self {
        Self {
            unsendable: is_unsendable::<T>(),
            has_streams: B::HAS_STREAMS,
            methods: [DLPack::<T, B>::definition(), Definition::of_plain::<DLPackDevice<T>>()],
        }
    }

    /// Adds the methods to a class.
    pub(in crate::python) fn install(&self, class: &Bound<'_, PyType>) -> PyResult<()> {
        let py = class.py();
        in_first_interpreter(py)?;
        watch(py);
        let class_name = class.name()?;
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
pub(in crate::python) const DLPACK_DOC: &CStr =
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
pub(in crate::python) const DLPACK_DEVICE_DOC: &CStr = c"__dlpack_device__($self, /)\n\
    --\n\n\
    Return the DLPack device type and the device id: (1, 0) for the CPU, (2, 0) for the\n\
    first CUDA device.";

/// `__dlpack__` of a class. The export itself is compiled once for all classes, and its
/// arguments stay in registers; [`ObjectMethod`](super::method_def::ObjectMethod) would pass
/// them through memory.
struct DLPack<T, B>(PhantomData<(T, B)>);

impl<T: ExportClass, B: Backends> DLPack<T, B> {
    const METHOD: &'static MethodDef<FastcallWithKeywords> = &MethodDef {
        name: c"__dlpack__".as_ptr(),
        function: dlpack::<T, B>,
        flags: METH_FASTCALL | py_ffi::METH_KEYWORDS,
        doc: DLPACK_DOC.as_ptr(),
    };

    fn definition() -> Definition {
        // SAFETY: 1. `dlpack` checks the type of the object.
        unsafe { Definition::by_hand(c"__dlpack__", Self::METHOD) }
    }
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
    unsafe {
        dlpack_methods::dlpack::<B>(object, arguments, positional, names, ClassVTable::of::<T>())
    }
}

/// `__dlpack_device__` of a class.
struct DLPackDevice<T>(PhantomData<T>);

impl<T: ExportClass> PlainMethod for DLPackDevice<T> {
    const NAME: &'static CStr = c"__dlpack_device__";
    const DOC: &'static CStr = DLPACK_DEVICE_DOC;

    fn call(object: Borrowed<'_, 'static, PyAny>) -> PyResult<Bound<'static, PyAny>> {
        dlpack_methods::dlpack_device(object, ClassVTable::of::<T>())
    }
}
