//! What is said of an object that exports nothing: what it is, and what to pass.

use alloc::format;
use alloc::string::ToString;

use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::types::{
    PyBytes, PyComplex, PyFloat, PyInt, PyList, PyMemoryView, PyRange, PyTuple, PyType,
};

use super::convert::quietly;
use super::lookup::export_of;

/// How types offer their elements to NumPy that do not know DLPack.
const FOR_NUMPY: [&str; 3] = ["__array__", "__array_interface__", "__array_struct__"];

/// The error of an import, which says what to pass where all that it says is that the
/// object has no method of the protocol. What an object raises itself stays as it is.
#[cold]
pub(super) fn explained(object: &Bound<'_, PyAny>, error: PyErr) -> PyErr {
    let py = object.py();
    let Some(method) = missing(py, &error) else { return error };
    // What has a table is a tensor, and its own words say why it was not to be had.
    if !matches!(quietly(py, export_of(object)), Some(None)) {
        return error;
    }
    let class = object.get_type();
    let Some(name) = quietly(py, class.fully_qualified_name()) else { return error };
    let instead = instead(object, &class);
    let explained = PyAttributeError::new_err(format!(
        "the object is of type `{name}`, which is no tensor: it has no `{method}`; pass {instead}"
    ));
    quietly::<()>(py, Err(error));
    explained
}

/// The method that Python itself says is not there.
///
/// Code of the object that looks for one in vain leaves a frame, or says so otherwise.
fn missing(py: Python<'_>, error: &PyErr) -> Option<&'static str> {
    if !error.get_type(py).is(py.get_type::<PyAttributeError>()) || error.traceback(py).is_some() {
        return None;
    }
    let message = error.value(py).to_string();
    ["__dlpack__", "__dlpack_device__"]
        .into_iter()
        .find(|method| message.ends_with(&format!("has no attribute '{method}'")))
}

/// What makes a tensor of the object, as one would type it.
fn instead(object: &Bound<'_, PyAny>, class: &Bound<'_, PyType>) -> &'static str {
    let py = object.py();
    // NumPy takes them for text.
    if object.is_instance_of::<PyBytes>() {
        return "`numpy.frombuffer(x, 'uint8')`";
    }
    let of_numbers = object.is_instance_of::<PyList>()
        || object.is_instance_of::<PyTuple>()
        || object.is_instance_of::<PyRange>()
        || object.is_instance_of::<PyInt>()
        || object.is_instance_of::<PyFloat>()
        || object.is_instance_of::<PyComplex>();
    let knows_numpy =
        || FOR_NUMPY.into_iter().any(|name| quietly(py, class.hasattr(name)) == Some(true));
    let is_buffer = || quietly(py, PyMemoryView::from(object)).is_some();
    if of_numbers || knows_numpy() || is_buffer() {
        "`numpy.asarray(x)`"
    } else {
        "a tensor, such as one of NumPy or PyTorch"
    }
}
