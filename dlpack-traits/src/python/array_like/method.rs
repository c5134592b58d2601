//! Methods of array-like classes, and their installation.

use core::ffi::CStr;
use core::marker::PhantomData;

use pyo3::prelude::*;
use pyo3::types::PyType;
use pyo3::{Borrowed, intern};

use super::array_class::ArrayClass;
use crate::python::export::arguments::Arguments;
use crate::python::export::export_class::ExportClass;
use crate::python::export::method_def::{Definition, ObjectMethod, add_to_class};

/// The object of a call from Python.
pub(super) type Object<'a> = Borrowed<'a, 'static, PyAny>;

/// What a method returns to Python.
pub(super) type Returned = PyResult<Bound<'static, PyAny>>;

/// A method of each array-like class.
pub(super) trait Method {
    const NAME: &'static CStr;

    /// The signature and the documentation.
    const DOC: &'static CStr;

    fn call(object: Object<'_>, arguments: Arguments<'_>, class: &'static ArrayClass) -> Returned;
}

/// A method of one class.
struct OfClass<T, M>(PhantomData<(T, M)>);

impl<T: ExportClass, M: Method> ObjectMethod for OfClass<T, M> {
    const NAME: &'static CStr = M::NAME;
    const DOC: &'static CStr = M::DOC;

    fn call(
        object: Borrowed<'_, 'static, PyAny>,
        arguments: Arguments<'_>,
    ) -> PyResult<Bound<'static, PyAny>> {
        M::call(object, arguments, ArrayClass::of::<T>())
    }
}

/// Returns the definition of a method of a class.
pub(super) fn method<T: ExportClass, M: Method>() -> Definition {
    Definition::of::<OfClass<T, M>>()
}

/// Adds the methods that the class does not define yet.
pub(super) fn add_missing(class: &Bound<'_, PyType>, methods: &[Definition]) -> PyResult<()> {
    for method in methods {
        if !defines(class, method.name())? {
            method.add_to(class)?;
        }
    }
    Ok(())
}

/// Adds a method as a property, if the class does not define it yet.
pub(super) fn add_missing_property(class: &Bound<'_, PyType>, method: Definition) -> PyResult<()> {
    let py = class.py();
    if defines(class, method.name())? {
        return Ok(());
    }
    add_missing(class, &[method])?;
    let getter = class.getattr(method.name())?;
    let property = py.import("builtins")?.getattr("property")?.call1((getter,))?;
    add_to_class(class, method.name(), property)
}

/// Whether a class itself defines an attribute, whatever its bases define: theirs are for
/// their own tensor.
pub(super) fn defines(class: &Bound<'_, PyType>, name: &str) -> PyResult<bool> {
    class.getattr(intern!(class.py(), "__dict__"))?.contains(name)
}
