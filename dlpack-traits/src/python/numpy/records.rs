//! Structured arrays of NumPy: their dtype ([`dtype_of_record`]), arrays of records over the memory
//! of their bytes ([`records_of`]), and the bytes of an array of records ([`bytes_of_records`]).

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use super::NumPy;
use super::c_api::type_string;
use crate::dtype::DataType;
use crate::element::{FieldType, RecordType};
use crate::python::convert::text;

/// The structured dtype of records.
///
/// # Errors
///
/// `ModuleNotFoundError` without NumPy; `TypeError` for a field of a dtype that NumPy does not have.
pub(in crate::python) fn dtype_of_record<'py>(
    py: Python<'py>,
    record: &RecordType,
) -> PyResult<Bound<'py, PyAny>> {
    let (mut names, mut formats, mut offsets) = (Vec::new(), Vec::new(), Vec::new());
    for field in record.fields() {
        let base = match field.record() {
            Some(record) => dtype_of_record(py, record)?,
            None => type_of(field)?.into_pyobject(py)?.into_any(),
        };
        names.push(field.name());
        formats.push((base, PyTuple::new(py, field.outer_axes())?));
        offsets.push(field.offset());
    }
    let description = PyDict::new(py);
    description.set_item("names", names)?;
    description.set_item("formats", formats)?;
    description.set_item("offsets", offsets)?;
    description.set_item("itemsize", record.size())?;
    dtype_class(py)?.call1((description,))
}

fn dtype_class(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    py.import(intern!(py, "numpy"))?.getattr(intern!(py, "dtype"))
}

/// The kind and the size of a field that is not a record.
fn type_of(field: &FieldType) -> PyResult<&'static str> {
    type_string(field.dtype()).ok_or_else(|| {
        let (name, dtype) = (field.name(), field.dtype());
        PyTypeError::new_err(format!(
            "NumPy does not have the dtype of the field `{name}`, {dtype}; use `from_dlpack` of a \
             library that has it, for the tensor of this field"
        ))
    })
}

/// Converts an array of bytes, whose last axis is that of a record, to an array of records over the
/// same memory.
///
/// # Errors
///
/// Those of [`dtype_of_record`].
pub(in crate::python) fn records_of<'py>(
    bytes: &Bound<'py, PyAny>,
    record: &RecordType,
) -> PyResult<Bound<'py, PyAny>> {
    let py = bytes.py();
    let records = bytes.call_method1(intern!(py, "view"), (dtype_of_record(py, record)?,))?;
    records.get_item((py.Ellipsis(), 0))
}

/// Converts an array of records to one of their bytes, with a last axis, over the same memory.
///
/// # Errors
///
/// `TypeError` for an object that is not an array of NumPy, and for one of another dtype. It names the
/// first field that differs, and advises a conversion with `note`.
pub(in crate::python) fn bytes_of_records<'py>(
    array: &Bound<'py, PyAny>,
    record: &RecordType,
    note: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let py = array.py();
    if !NumPy::is_array(array)? {
        let void = py.import(intern!(py, "numpy"))?.getattr(intern!(py, "void"))?;
        let cure = if array.is_instance(&void)? {
            "`numpy.atleast_1d(x)`".to_string()
        } else if array.is_instance_of::<PyList>() || array.is_instance_of::<PyTuple>() {
            // NumPy makes a record of each tuple, and reads a list of them as an axis.
            format!("`numpy.array(list(x), {})`", text(&dtype_of_record(py, record)?)?)
        } else if array.hasattr(intern!(py, "to_records"))? {
            // A data frame of pandas.
            "`x.to_records(index=False)`".to_string()
        } else {
            "`numpy.asarray(x)` if it is an array of such records".to_string()
        };
        return Err(PyTypeError::new_err(format!(
            "expected a structured array of NumPy with the fields {record}, got an object of type \
             `{}`; pass {cure}{note}",
            array.get_type().name()?.to_string_lossy()
        )));
    }
    let class = py.import(intern!(py, "numpy"))?.getattr(intern!(py, "ndarray"))?;
    // The array itself, without what a subclass defines.
    let array = class.getattr(intern!(py, "view"))?.call1((array, &class))?;
    let dtype = array.getattr(intern!(py, "dtype"))?;
    if let Some(difference) = difference(&dtype, record)? {
        let advice = if is_cast(&dtype, record)? {
            let dtype = text(&dtype_of_record(py, record)?)?;
            format!("; convert with `x.astype({dtype})`{note}")
        } else {
            String::new()
        };
        return Err(PyTypeError::new_err(format!(
            "expected an array with the fields {record}, got one where {difference}{advice}"
        )));
    }
    let bytes = dtype_class(py)?.call1((("u1", (record.size(),)),))?;
    array.call_method1(intern!(py, "getfield"), (bytes, 0))
}

/// The first difference between a dtype of NumPy and records.
fn difference(dtype: &Bound<'_, PyAny>, record: &RecordType) -> PyResult<Option<String>> {
    let py = dtype.py();
    let Some(names) = dtype.getattr(intern!(py, "names"))?.extract::<Option<Vec<String>>>()? else {
        return Ok(Some(format!("the elements are {}, without fields", text(dtype)?)));
    };
    let fields = dtype.getattr(intern!(py, "fields"))?;
    for (index, field) in record.fields().iter().enumerate() {
        let expected = field.name();
        match names.get(index) {
            Some(name) if name == expected => {}
            Some(name) => {
                return Ok(Some(format!("field {index} is `{name}` and not `{expected}`")));
            }
            None => return Ok(Some(format!("the field `{expected}` is missing"))),
        }
        // With a title, there is a third entry.
        let place = fields.get_item(expected)?;
        if let Some(difference) = field_difference(&place.get_item(0)?, field)? {
            return Ok(Some(difference));
        }
        let (offset, own) = (place.get_item(1)?.extract::<usize>()?, field.offset());
        if offset != own {
            return Ok(Some(format!("`{expected}` is at byte {offset} and not {own}")));
        }
    }
    if let Some(name) = names.get(record.fields().len()) {
        return Ok(Some(format!("there is a further field `{name}`")));
    }
    let (size, own) = (dtype.getattr(intern!(py, "itemsize"))?.extract::<usize>()?, record.size());
    Ok((size != own).then(|| format!("a record has {size} bytes and not {own}")))
}

/// Whether `astype` makes records of a dtype: the same fields, of types that are converted without a loss of
/// fractions or imaginary parts.
fn is_cast(dtype: &Bound<'_, PyAny>, record: &RecordType) -> PyResult<bool> {
    let py = dtype.py();
    let names = dtype.getattr(intern!(py, "names"))?.extract::<Option<Vec<String>>>()?;
    if !names.is_some_and(|names| names.iter().eq(record.fields().iter().map(FieldType::name))) {
        return Ok(false);
    }
    let can_cast = py.import(intern!(py, "numpy"))?.getattr(intern!(py, "can_cast"))?;
    for field in record.fields() {
        let found = dtype.get_item(field.name())?;
        let base = found.getattr(intern!(py, "base"))?;
        let axes = found.getattr(intern!(py, "shape"))?.extract::<Vec<i64>>()?;
        let is_cast = match field.record() {
            _ if axes != field.outer_axes() => false,
            Some(record) => is_cast(&base, record)?,
            None if base.getattr(intern!(py, "kind"))?.eq("i")? => field.dtype() != DataType::BOOL,
            None => can_cast.call1((base, type_of(field)?, "same_kind"))?.is_truthy()?,
        };
        if !is_cast {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The first difference between the dtype of a field and a field of a record.
fn field_difference(dtype: &Bound<'_, PyAny>, field: &FieldType) -> PyResult<Option<String>> {
    let py = dtype.py();
    let base = dtype.getattr(intern!(py, "base"))?;
    let axes = dtype.getattr(intern!(py, "shape"))?.extract::<Vec<i64>>()?;
    let name = field.name();
    if let Some(record) = field.record() {
        if let Some(inner) = difference(&base, record)? {
            return Ok(Some(format!("in `{name}`, {inner}")));
        }
    } else {
        let (found, own) = (text(&base.getattr(intern!(py, "str"))?)?, type_of(field)?);
        let plain = base.getattr(intern!(py, "names"))?.is_none();
        if found != own || !plain {
            return Ok(Some(format!("`{name}` is {} and not {}", text(&base)?, field.dtype())));
        }
    }
    let own = field.outer_axes();
    Ok((axes != own).then(|| format!("`{name}` has the shape {axes:?} and not {own:?}")))
}
