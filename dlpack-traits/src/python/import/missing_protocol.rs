//! Explains an import error of an object that is not a tensor: what it is, and what to
//! pass.

use alloc::format;
use alloc::string::{String, ToString};

use pyo3::exceptions::PyAttributeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{
    PyBytes, PyComplex, PyFloat, PyInt, PyList, PyMemoryView, PyRange, PyTuple, PyType,
};

use crate::python::convert::{discard, ok_or_discard, ok_unless_exit};
use crate::python::table::lookup::export_of;

/// The attributes by which types without DLPack expose their elements to NumPy.
const FOR_NUMPY: [&str; 3] = ["__array__", "__array_interface__", "__array_struct__"];

/// The element types (`dtype.char`) that NumPy does not export by DLPack: bytes, text,
/// records, objects, times, and floats of platform-dependent size.
const NOT_EXPORTED: &str = "SUVOMmgG";

/// Returns the error of an import. If it means only that the object lacks a method of the
/// protocol, returns an error that suggests what to pass. An error that the object raises
/// itself is returned unchanged.
#[cold]
pub(in crate::python) fn explained(object: &Bound<'_, PyAny>, error: PyErr) -> PyErr {
    match explanation(object, &error) {
        Ok(None) => error,
        Ok(Some(instead)) | Err(instead) => {
            discard(object.py(), error);
            instead
        }
    }
}

/// Makes the explanation, if there is one.
///
/// # Errors
///
/// Those of [`ok_unless_exit`].
fn explanation(object: &Bound<'_, PyAny>, error: &PyErr) -> PyResult<Option<PyErr>> {
    let py = object.py();
    let class = object.get_type();
    let Some(method) = missing(object, error) else { return Ok(None) };
    // An object with `__dlpack__` but without `__dlpack_device__` is a tensor.
    let has_dlpack = || ok_unless_exit(py, object.hasattr(intern!(py, "__dlpack__")));
    if method == "__dlpack_device__" && has_dlpack()? != Some(false) {
        return Ok(None);
    }
    // An object whose type has an exchange table is a tensor; its own error gives the
    // reason.
    if !matches!(ok_unless_exit(py, export_of(object))?, Some(None)) {
        return Ok(None);
    }
    let Some(name) = ok_unless_exit(py, class.fully_qualified_name())? else { return Ok(None) };
    let name = name.to_string();
    let instead = instead(object, &class, &name)?;
    let explained = PyAttributeError::new_err(format!(
        "the object is of type `{name}`, which is not a tensor: it has no `{method}`; pass {instead}"
    ));
    let value = explained.value(py);
    ok_or_discard(py, value.setattr(intern!(py, "name"), method));
    ok_or_discard(py, value.setattr(intern!(py, "obj"), object));
    Ok(Some(explained))
}

/// Returns the method that is missing according to Python itself.
///
/// An `AttributeError` from Python code has a traceback. One from native code has none,
/// and may be about another object. The error must therefore name this object and this
/// method, which Python stores in it, and must have the message of Python, since native
/// code has messages of its own.
fn missing(object: &Bound<'_, PyAny>, error: &PyErr) -> Option<&'static str> {
    let py = object.py();
    if !error.get_type(py).is(py.get_type::<PyAttributeError>()) || error.traceback(py).is_some() {
        return None;
    }
    let value = error.value(py);
    let text = value.getattr(intern!(py, "args")).and_then(|args| args.extract::<(String,)>());
    let (text,) = ok_or_discard(py, text)?;
    let method = ["__dlpack__", "__dlpack_device__"]
        .into_iter()
        .find(|method| text.ends_with(&format!("has no attribute '{method}'")))?;
    let of = ok_or_discard(py, value.getattr(intern!(py, "obj")))?;
    let name = value.getattr(intern!(py, "name")).and_then(|name| name.extract::<String>());
    let is_of_object = of.is(object) && ok_or_discard(py, name).as_deref() == Some(method);
    is_of_object.then_some(method)
}

/// Whether a type has an attribute. It uses the lookup of `type`, which a metaclass
/// cannot override.
///
/// # Errors
///
/// Those of [`ok_unless_exit`].
fn has(class: &Bound<'_, PyType>, name: &str) -> PyResult<bool> {
    let py = class.py();
    let usual = py.get_type::<PyType>();
    let found = usual.call_method1(intern!(py, "__getattribute__"), (class, name));
    Ok(ok_unless_exit(py, found)?.is_some())
}

/// Returns an expression that converts the object to a tensor.
///
/// # Errors
///
/// Those of [`ok_unless_exit`].
fn instead(
    object: &Bound<'_, PyAny>,
    class: &Bound<'_, PyType>,
    name: &str,
) -> PyResult<&'static str> {
    // `numpy.asarray` would make an array of text.
    if object.is_instance_of::<PyBytes>() {
        return Ok("`numpy.frombuffer(x, 'uint8')`");
    }
    let of_numbers = object.is_instance_of::<PyList>()
        || object.is_instance_of::<PyTuple>()
        || object.is_instance_of::<PyRange>()
        || object.is_instance_of::<PyInt>()
        || object.is_instance_of::<PyFloat>()
        || object.is_instance_of::<PyComplex>();
    if of_numbers || offers_elements(object, class, name)? {
        Ok("`numpy.asarray(x)`")
    } else {
        Ok("a tensor, such as one of NumPy or PyTorch")
    }
}

/// Whether NumPy can convert the object to an array that it can export.
///
/// # Errors
///
/// Those of [`ok_unless_exit`].
fn offers_elements(
    object: &Bound<'_, PyAny>,
    class: &Bound<'_, PyType>,
    name: &str,
) -> PyResult<bool> {
    let py = object.py();
    // NumPy's own scalars have these attributes for all element types.
    if name.starts_with("numpy.") {
        let dtype = object.getattr(intern!(py, "dtype"));
        let char = dtype.and_then(|dtype| dtype.getattr(intern!(py, "char"))?.extract::<String>());
        if ok_unless_exit(py, char)?.is_some_and(|char| NOT_EXPORTED.contains(&char)) {
            return Ok(false);
        }
    }
    for name in FOR_NUMPY {
        if has(class, name)? {
            return Ok(true);
        }
    }
    Ok(ok_unless_exit(py, PyMemoryView::from(object))?.is_some())
}
