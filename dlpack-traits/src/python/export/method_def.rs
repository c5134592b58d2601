//! Defines methods of classes as C functions, without `#[pymethods]`.

use alloc::format;
use core::ffi::{c_char, c_int};
use core::mem::offset_of;
use core::ptr;

use pyo3::exceptions::PyTypeError;
use pyo3::ffi as py_ffi;
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::panic::catch_panic;
use crate::python::convert;

/// A `PyMethodDef`, with the calling convention in its type.
///
/// PyO3 hides the field for this convention below the stable ABI of 3.10, although it has
/// not changed in CPython since 3.7.
#[repr(C)]
pub(in crate::python) struct MethodDef<F> {
    pub(in crate::python) name: *const c_char,
    pub(in crate::python) function: F,
    pub(in crate::python) flags: c_int,
    pub(in crate::python) doc: *const c_char,
}

pub(in crate::python) type FastcallWithKeywords = unsafe extern "C" fn(
    *mut py_ffi::PyObject,
    *const *mut py_ffi::PyObject,
    py_ffi::Py_ssize_t,
    *mut py_ffi::PyObject,
) -> *mut py_ffi::PyObject;

pub(in crate::python) type NoArguments =
    unsafe extern "C" fn(*mut py_ffi::PyObject, *mut py_ffi::PyObject) -> *mut py_ffi::PyObject;

/// `METH_FASTCALL`, which `pyo3::ffi` hides as it hides the field.
pub(in crate::python) const METH_FASTCALL: c_int = 0x80;

impl<F> MethodDef<F> {
    /// Returns the pointer for Python, which only reads it.
    pub(in crate::python) const fn as_ptr(&'static self) -> *const py_ffi::PyMethodDef {
        (&raw const *self).cast()
    }
}

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

/// Sets an attribute of a class.
///
/// # Errors
///
/// `TypeError` for a class that is `immutable_type`.
pub(in crate::python) fn add_to_class(
    class: &Bound<'_, PyType>,
    name: &str,
    value: Bound<'_, PyAny>,
) -> PyResult<()> {
    class.setattr(name, value).map_err(|cause| {
        let class_name = class.name().map_or_else(|_| "?".into(), |name| format!("{name}"));
        let error = PyTypeError::new_err(format!(
            "`{name}` cannot be added to `{class_name}`: a class of tensors must not be \
             `immutable_type`"
        ));
        error.set_cause(class.py(), Some(cause));
        error
    })
}

/// Converts the result of a method to what Python expects: an object, or NULL with an
/// exception set. It catches panics.
pub(in crate::python) fn finish(
    py: Python<'_>,
    method: impl FnOnce() -> PyResult<*mut py_ffi::PyObject>,
) -> *mut py_ffi::PyObject {
    match catch_panic(method).unwrap_or_else(|| Err(convert::panicked())) {
        Ok(object) => object,
        Err(error) => {
            convert::raise(py, error);
            ptr::null_mut()
        }
    }
}
