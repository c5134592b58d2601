//! The exceptions for an argument that does not meet its type, with their texts: what was
//! expected and received. `advice` has the conversions that they suggest.

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;

use pyo3::exceptions::{PyAttributeError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;

use super::advice::Library;
use crate::dtype::DataType;
use crate::error::Error;
use crate::import::{ImportError, ImportedTensor, is_of_numpy};
use crate::python::convert::{discard, ok_or_discard};

#[cold]
pub(super) fn not_a_tensor_to_change(object: &Bound<'_, PyAny>, error: PyErr) -> PyErr {
    let py = object.py();
    if !has_no_protocol(object, &error) {
        return error;
    }
    let text = error.value(py).to_string();
    let found = text.split_once("; pass ").map_or(text.as_str(), |(found, _)| found);
    let instead = PyTypeError::new_err(format!(
        "{found}; the function changes its argument in place, so pass a tensor, such as one of \
         NumPy or PyTorch"
    ));
    discard(py, error);
    instead
}

/// Converts the `AttributeError` of an object without `__dlpack__` to a `TypeError`.
/// Returns every other error unchanged: one that Python code raised has a traceback, and
/// one about another object names that object.
#[cold]
pub(super) fn not_a_tensor(
    object: &Bound<'_, PyAny>,
    dtype: Option<DataType>,
    error: PyErr,
) -> PyErr {
    let py = object.py();
    if !has_no_protocol(object, &error) {
        return error;
    }
    let mut text = error.value(py).to_string();
    if let Some(dtype) = dtype.filter(|dtype| is_of_numpy(*dtype)) {
        text = text.replace("numpy.asarray(x)", &format!("numpy.asarray(x, '{dtype}')"));
    }
    discard(py, error);
    PyTypeError::new_err(text)
}

/// Whether an import failed because the object does not implement the DLPack protocol.
#[cold]
pub(super) fn has_no_protocol(object: &Bound<'_, PyAny>, error: &PyErr) -> bool {
    let py = object.py();
    if !error.get_type(py).is(py.get_type::<PyAttributeError>()) || error.traceback(py).is_some() {
        return false;
    }
    let value = error.value(py);
    let of = ok_or_discard(py, value.getattr(intern!(py, "obj")));
    let name = value.getattr(intern!(py, "name")).and_then(|name| name.extract());
    let name: Option<alloc::string::String> = ok_or_discard(py, name);
    let is_missing = matches!(name.as_deref(), Some("__dlpack__" | "__dlpack_device__"));
    is_missing && of.is_some_and(|of| of.is(object))
}

#[cold]
pub(super) fn of_dtype_to_change(
    object: &Bound<'_, PyAny>,
    asked: DataType,
    tensor: &ImportedTensor,
) -> PyErr {
    of_dtypes_to_change(object, tensor, &[asked], None)
}

/// Makes the exception for an argument of none of these dtypes, with the conversion to the
/// first one. The message begins with the name of the argument, if there is one.
#[cold]
pub(super) fn of_dtypes(
    object: &Bound<'_, PyAny>,
    tensor: &ImportedTensor,
    expected: &[DataType],
    name: Option<&str>,
) -> PyErr {
    of_dtypes_with(object, tensor, expected, name, "")
}

/// As [`of_dtypes`], for an argument that the function changes.
#[cold]
pub(super) fn of_dtypes_to_change(
    object: &Bound<'_, PyAny>,
    tensor: &ImportedTensor,
    expected: &[DataType],
    name: Option<&str>,
) -> PyErr {
    let note = "; the function changes the tensor in place, so keep the converted copy";
    of_dtypes_with(object, tensor, expected, name, note)
}

/// As [`of_dtypes`], with a note before the conversion.
#[cold]
fn of_dtypes_with(
    object: &Bound<'_, PyAny>,
    tensor: &ImportedTensor,
    expected: &[DataType],
    name: Option<&str>,
    note: &str,
) -> PyErr {
    // The words of PyO3 before 0.29.
    let argument = name.map(|name| format!("argument '{name}': ")).unwrap_or_default();
    with_advice(object, |library| {
        let advice = expected.first().map(|&to| library.cast(tensor, to)).unwrap_or_default();
        let mismatch = expected_dtypes(expected, tensor.dtype());
        PyTypeError::new_err(format!("{argument}{mismatch}{note}{advice}"))
    })
}

/// "expected float32 or float64, got int64".
fn expected_dtypes(expected: &[DataType], found: DataType) -> String {
    let mut text = String::from("expected ");
    match expected {
        [] => text.push_str("another dtype"),
        [first, rest @ ..] => {
            text.push_str(&first.to_string());
            for (index, dtype) in rest.iter().enumerate() {
                let is_last = index.wrapping_add(1) == rest.len();
                text.push_str(if is_last { " or " } else { ", " });
                text.push_str(&dtype.to_string());
            }
        }
    }
    text.push_str(", got ");
    text.push_str(&found.to_string());
    text
}

/// Makes an exception with advice for the library of the object.
#[cold]
fn with_advice(object: &Bound<'_, PyAny>, error: impl FnOnce(Library) -> PyErr) -> PyErr {
    match Library::of(object) {
        Ok(library) => error(library),
        Err(interrupt) => interrupt,
    }
}

/// Makes the exception for an argument that does not meet its type.
#[cold]
pub(super) fn rejected(object: &Bound<'_, PyAny>, tensor: &ImportedTensor, error: Error) -> PyErr {
    match error {
        Error::ElementMismatch { requested, found } => with_advice(object, |library| {
            let advice = library.cast(tensor, requested);
            PyTypeError::new_err(format!("expected {requested}, got {found}{advice}"))
        }),
        Error::NotOnHost { device } => with_advice(object, |library| {
            let advice = library.on_host();
            PyValueError::new_err(format!("expected host memory, got memory on {device}; {advice}"))
        }),
        Error::AxesMismatch { axes } => PyValueError::new_err(format!(
            "expected a shape that ends in {}, contiguous there, got shape {}",
            Shape(axes),
            Shape(tensor.shape())
        )),
        error => ImportError::Tensor(error).into(),
    }
}

#[cold]
pub(super) fn of_rank(
    object: &Bound<'_, PyAny>,
    tensor: &ImportedTensor,
    expected: usize,
) -> PyErr {
    let dimensions = if expected == 1 { "dimension" } else { "dimensions" };
    with_advice(object, |library| {
        PyValueError::new_err(format!(
            "expected {expected} {dimensions}, got {} of shape {}{}",
            tensor.ndim(),
            Shape(tensor.shape()),
            library.of_rank(tensor, expected)
        ))
    })
}

#[cold]
pub(super) fn overlapping(object: &Bound<'_, PyAny>, tensor: &ImportedTensor) -> PyErr {
    with_advice(object, |library| {
        PyValueError::new_err(format!(
            "expected elements that do not share memory, got a tensor that is broadcast or may \
             overlap; {}",
            library.copied(tensor)
        ))
    })
}

#[cold]
pub(super) fn read_only(object: &Bound<'_, PyAny>, tensor: &ImportedTensor) -> PyErr {
    with_advice(object, |library| {
        let (found, advice) = if library == Library::Jax {
            ("an array of JAX, which is immutable", library.copied(tensor))
        } else if tensor.version().is_some() {
            ("a read-only one", library.copied(tensor))
        } else {
            ("a legacy DLPack capsule, which has no READ_ONLY flag", library.versioned(tensor))
        };
        PyValueError::new_err(format!("expected a writable tensor, got {found}; {advice}"))
    })
}

/// A shape as Python prints it.
struct Shape<'a>(&'a [i64]);

impl fmt::Display for Shape<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        for (axis, dim) in self.0.iter().enumerate() {
            if axis != 0 {
                f.write_str(", ")?;
            }
            dim.fmt(f)?;
        }
        f.write_str(if self.0.len() == 1 { ",)" } else { ")" })
    }
}
