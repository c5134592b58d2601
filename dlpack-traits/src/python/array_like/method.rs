//! Methods of array-like classes, and their installation.

use core::ffi::CStr;
use core::marker::PhantomData;

use pyo3::ffi as py_ffi;
use pyo3::prelude::*;
use pyo3::types::PyType;
use pyo3::{Borrowed, intern};

use super::array_class::ArrayClass;
use crate::python::convert::attached_object;
use crate::python::export::arguments::Arguments;
use crate::python::export::class_methods::{Method as MethodOfClass, add_methods};
use crate::python::export::export_class::ExportClass;
use crate::python::export::method_def::{
    FastcallWithKeywords, METH_FASTCALL, MethodDef, add_to_class, finish,
};

/// A method of each array-like class.
pub(super) trait Method {
    const NAME: &'static str;

    /// `NAME` for C.
    const C_NAME: &'static CStr;

    /// The signature and the documentation.
    const DOC: &'static CStr;

    fn call(
        object: Borrowed<'_, 'static, PyAny>,
        arguments: Arguments<'_>,
        class: &'static ArrayClass,
    ) -> PyResult<Bound<'static, PyAny>>;
}

/// The definition of a method of a class, static for the life of the process.
struct Definition<T, M>(PhantomData<(T, M)>);

impl<T: ExportClass, M: Method> Definition<T, M> {
    const METHOD: &'static MethodDef<FastcallWithKeywords> = &MethodDef {
        name: M::C_NAME.as_ptr(),
        function: call::<T, M>,
        flags: METH_FASTCALL | py_ffi::METH_KEYWORDS,
        doc: M::DOC.as_ptr(),
    };
}

/// Returns the definition of a method of a class.
pub(super) fn definition<T: ExportClass, M: Method>() -> *const py_ffi::PyMethodDef {
    Definition::<T, M>::METHOD.as_ptr()
}

/// Calls a method.
///
/// # Safety
///
/// 1. Python calls it, by the convention of its `MethodDef`.
unsafe extern "C" fn call<T: ExportClass, M: Method>(
    object: *mut py_ffi::PyObject,
    arguments: *const *mut py_ffi::PyObject,
    positional: py_ffi::Py_ssize_t,
    names: *mut py_ffi::PyObject,
) -> *mut py_ffi::PyObject {
    // SAFETY: 1. and 2. By 1 this thread is attached, and the object is alive.
    let object: Borrowed<'_, 'static, PyAny> = unsafe { attached_object(object) };
    // SAFETY: 1. Guaranteed by our caller's 1.
    let arguments = unsafe { Arguments::new(arguments, positional, names) };
    finish(object.py(), || M::call(object, arguments, ArrayClass::of::<T>()).map(Bound::into_ptr))
}

/// Adds the methods that the class does not define yet.
///
/// The definitions are those that [`definition`] returned for this class.
pub(super) fn add_missing(class: &Bound<'_, PyType>, methods: &[MethodOfClass]) -> PyResult<()> {
    for method in methods {
        if !defines(class, method.0)? {
            // SAFETY: 1. `definition` made it, and its function may be called for each object,
            // because it checks the type.
            unsafe { add_methods(class, &[*method]) }?;
        }
    }
    Ok(())
}

/// Adds a method as a property, if the class does not define it yet.
pub(super) fn add_missing_property(
    class: &Bound<'_, PyType>,
    method: MethodOfClass,
) -> PyResult<()> {
    let py = class.py();
    if defines(class, method.0)? {
        return Ok(());
    }
    add_missing(class, &[method])?;
    let getter = class.getattr(method.0)?;
    let property = py.import("builtins")?.getattr("property")?.call1((getter,))?;
    add_to_class(class, method.0, property)
}

/// Whether a class itself defines an attribute, whatever its bases define: theirs are for
/// their own tensor.
pub(super) fn defines(class: &Bound<'_, PyType>, name: &str) -> PyResult<bool> {
    class.getattr(intern!(class.py(), "__dict__"))?.contains(name)
}
