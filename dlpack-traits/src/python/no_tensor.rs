//! What is said of an object that exports nothing: what it is, and what to pass.

use alloc::format;
use alloc::string::{String, ToString};

use pyo3::exceptions::PyAttributeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{
    PyBytes, PyComplex, PyFloat, PyInt, PyList, PyMemoryView, PyRange, PyTuple, PyType,
};

use super::convert::{answer, quietly};
use super::lookup::export_of;

/// How types offer their elements to NumPy that do not know DLPack.
const FOR_NUMPY: [&str; 3] = ["__array__", "__array_interface__", "__array_struct__"];

/// The types of elements (`dtype.char`) that NumPy itself exports to nobody: bytes, text,
/// records, objects, times, and floats of a size that is the platform's.
const NOT_EXPORTED: &str = "SUVOMmgG";

/// The error of an import, which says what to pass where all that it says is that the
/// object has no method of the protocol. What an object raises itself stays as it is.
#[cold]
pub(super) fn explained(object: &Bound<'_, PyAny>, error: PyErr) -> PyErr {
    match explanation(object, &error) {
        Ok(None) => error,
        Ok(Some(instead)) | Err(instead) => {
            quietly::<()>(object.py(), Err(error));
            instead
        }
    }
}

/// The explanation, if there is one.
///
/// # Errors
///
/// As [`answer`].
fn explanation(object: &Bound<'_, PyAny>, error: &PyErr) -> PyResult<Option<PyErr>> {
    let py = object.py();
    let class = object.get_type();
    let Some(method) = missing(object, &class, error)? else { return Ok(None) };
    // Who exports, but does not say where to, lacks one method and is a tensor.
    let has_dlpack = || answer(py, object.hasattr(intern!(py, "__dlpack__")));
    if method == "__dlpack_device__" && has_dlpack()? != Some(false) {
        return Ok(None);
    }
    // What has a table is a tensor, and its own words say why it was not to be had.
    if !matches!(answer(py, export_of(object))?, Some(None)) {
        return Ok(None);
    }
    let Some(name) = answer(py, class.fully_qualified_name())? else { return Ok(None) };
    let name = name.to_string();
    let instead = instead(object, &class, &name)?;
    let explained = PyAttributeError::new_err(format!(
        "the object is of type `{name}`, which is no tensor: it has no `{method}`; pass {instead}"
    ));
    let value = explained.value(py);
    quietly(py, value.setattr(intern!(py, "name"), method));
    quietly(py, value.setattr(intern!(py, "obj"), object));
    Ok(Some(explained))
}

/// The method that Python itself says is not there.
///
/// Python code that looks for one in vain leaves a frame. Native code leaves none, and may
/// have looked inside of the object: so the error must be of this very object and name,
/// which Python notes. And its words must be Python's, for native code has some of its own.
///
/// # Errors
///
/// As [`answer`].
fn missing(
    object: &Bound<'_, PyAny>,
    class: &Bound<'_, PyType>,
    error: &PyErr,
) -> PyResult<Option<&'static str>> {
    let py = object.py();
    if !error.get_type(py).is(py.get_type::<PyAttributeError>()) || error.traceback(py).is_some() {
        return Ok(None);
    }
    let value = error.value(py);
    let text = value.getattr(intern!(py, "args")).and_then(|args| args.extract::<(String,)>());
    let Some((text,)) = quietly(py, text) else { return Ok(None) };
    let found = ["__dlpack__", "__dlpack_device__"]
        .into_iter()
        .find(|method| text.ends_with(&format!("has no attribute '{method}'")));
    let Some(method) = found else { return Ok(None) };
    let is_of_object = match quietly(py, value.getattr(intern!(py, "obj"))) {
        Some(of) => {
            let name = value.getattr(intern!(py, "name")).and_then(|name| name.extract::<String>());
            of.is(object) && quietly(py, name).as_deref() == Some(method)
        }
        // Python 3.9 notes neither. What a type has is not missing.
        None => !has(class, method)?,
    };
    Ok(is_of_object.then_some(method))
}

/// Whether a type has an attribute. It is looked up as `type` does, and not as its
/// metaclass may.
///
/// # Errors
///
/// As [`answer`].
fn has(class: &Bound<'_, PyType>, name: &str) -> PyResult<bool> {
    let py = class.py();
    let usual = py.get_type::<PyType>();
    let found = usual.call_method1(intern!(py, "__getattribute__"), (class, name));
    Ok(answer(py, found)?.is_some())
}

/// What makes a tensor of the object, as one would type it.
///
/// # Errors
///
/// As [`answer`].
fn instead(
    object: &Bound<'_, PyAny>,
    class: &Bound<'_, PyType>,
    name: &str,
) -> PyResult<&'static str> {
    // NumPy takes them for text.
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

/// Whether NumPy gets elements of the object that it can export.
///
/// # Errors
///
/// As [`answer`].
fn offers_elements(
    object: &Bound<'_, PyAny>,
    class: &Bound<'_, PyType>,
    name: &str,
) -> PyResult<bool> {
    let py = object.py();
    // NumPy's own scalars offer whatever they hold.
    if name.starts_with("numpy.") {
        let dtype = object.getattr(intern!(py, "dtype"));
        let char = dtype.and_then(|dtype| dtype.getattr(intern!(py, "char"))?.extract::<String>());
        if answer(py, char)?.is_some_and(|char| NOT_EXPORTED.contains(&char)) {
            return Ok(false);
        }
    }
    for name in FOR_NUMPY {
        if has(class, name)? {
            return Ok(true);
        }
    }
    Ok(answer(py, PyMemoryView::from(object))?.is_some())
}
