//! Columns with missing values, whose integers NumPy makes floats of: [`filled`].

use alloc::format;
use alloc::string::String;
use alloc::vec;

use pyo3::prelude::*;
use pyo3::{IntoPyObjectExt, intern};

use crate::python::convert::ok_unless_exit;
use crate::python::import::masked::check_mask;
use crate::python::import::object_kind::{has, kind_of_dtype};

/// The methods of columns that replace missing values: of pandas; of polars and Arrow.
const METHODS: [&str; 2] = ["fillna", "fill_null"];

/// An expression for an object `x` without its missing values, if `accepts` returns `true` for it.
///
/// # Errors
///
/// Those of [`check_mask`].
#[cold]
pub(in crate::python) fn filled<'py>(
    object: &Bound<'py, PyAny>,
    accepts: impl Fn(&Bound<'py, PyAny>) -> PyResult<bool>,
) -> PyResult<Option<String>> {
    let (py, class) = (object.py(), object.get_type());
    for method in METHODS {
        if !has(&class, method)? {
            continue;
        }
        // A wrapper of a masked array has the method, too.
        check_mask(object)?;
        let (zero, no) = (0_u8.into_bound_py_any(py)?, false.into_bound_py_any(py)?);
        let values = match kind_of_dtype(object)? {
            Some('i' | 'u') => vec![zero],
            Some('b') => vec![no],
            Some(_) => vec![],
            None => vec![zero, no],
        };
        for value in values {
            let filled = object.call_method1(method, (&value,));
            let accepted = filled.and_then(|filled| accepts(&filled));
            if ok_unless_exit(py, accepted)? == Some(true) {
                return Ok(Some(format!("x.{method}({value})")));
            }
        }
    }
    Ok(None)
}

/// As [`filled`], if NumPy makes an array of integers or `bool` of that only, and not of the object.
///
/// # Errors
///
/// Those of [`filled`].
#[cold]
pub(in crate::python) fn filled_integers(object: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let py = object.py();
    let is_of_integers = |object: &Bound<'_, PyAny>| -> PyResult<bool> {
        let array =
            py.import(intern!(py, "numpy"))?.call_method1(intern!(py, "asarray"), (object,));
        Ok(matches!(kind_of_dtype(&array?)?, Some('b' | 'i' | 'u')))
    };
    filled(object, |filled| Ok(is_of_integers(filled)? && !is_of_integers(object)?))
}
