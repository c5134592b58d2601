//! `__array__`, by which NumPy converts an object: [`Array`].

use alloc::format;
use alloc::string::ToString;
use core::ffi::CStr;

use pyo3::exceptions::{PyBufferError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3::{Borrowed, intern};

use crate::import::is_of_numpy;
use crate::python::array_like::method::{Method, Object, Returned, class_name, with_tensor};
use crate::python::convert;
use crate::python::export::export_class::ClassVTable;
use crate::python::export::method_def::Arguments;
use crate::python::numpy::{NumPy, records_of};

/// `__array__`.
pub(super) struct Array;

impl Method for Array {
    const NAME: &'static CStr = c"__array__";
    const DOC: &'static CStr = c"__array__($self, /, dtype=None, *, copy=None)\n--\n\n\
        Return the tensor as a NumPy array, for numpy.asarray().\n\n\
        dtype is the type of the elements of the result; the tensor's own if it is None.\n\
        copy is True for an array of its own memory, False for the memory of this object,\n\
        and None for a copy only if the dtype differs. With False, a conversion that needs a\n\
        copy is a ValueError.";

    fn call(object: Object<'_>, arguments: Arguments<'_>, class: &'static ClassVTable) -> Returned {
        let py = object.py();
        let keywords = Keywords::of(py, arguments)?;
        let array = if keywords.copy == Some(false) {
            array_without_copy(object, class)?
        } else {
            array_of(object, class)?
        };
        let same = match keywords.dtype {
            None => true,
            Some(dtype) => {
                let numpy = py.import(intern!(py, "numpy"))?;
                let dtype = numpy.getattr(intern!(py, "dtype"))?.call1((dtype,))?;
                dtype.eq(array.getattr(intern!(py, "dtype"))?)?
            }
        };
        match (keywords.dtype, keywords.copy) {
            (Some(dtype), Some(false)) if !same => Err(PyValueError::new_err(format!(
                "a conversion from {} to {} needs a copy, which copy=False forbids; leave `copy` \
                 out",
                array.getattr(intern!(py, "dtype"))?.str()?,
                dtype.str()?
            ))),
            (Some(dtype), _) if !same => array.call_method1(intern!(py, "astype"), (dtype,)),
            (_, Some(true)) => array.call_method0(intern!(py, "copy")),
            _ => Ok(array),
        }
    }
}

/// The arguments of `__array__`.
#[derive(Default)]
struct Keywords<'a> {
    dtype: Option<Borrowed<'a, 'static, PyAny>>,
    copy: Option<bool>,
}

impl<'a> Keywords<'a> {
    fn of(py: Python<'static>, arguments: Arguments<'a>) -> PyResult<Self> {
        let mut keywords = Self::default();
        let given = |value: Borrowed<'a, 'static, PyAny>| (!value.is_none()).then_some(value);
        match arguments.positional() {
            0 => {}
            1 => keywords.dtype = arguments.only_positional(py).and_then(given),
            more => {
                return Err(PyTypeError::new_err(format!(
                    "__array__() takes at most one positional argument ({more} given)"
                )));
            }
        }
        arguments.for_each_keyword(py, |name, value| {
            if name.eq("copy")? {
                keywords.copy = given(value).map(|value| convert::copy(&value)).transpose()?;
            } else if name.eq("dtype")? && arguments.positional() == 0 {
                keywords.dtype = given(value);
            } else {
                return Err(PyTypeError::new_err(format!(
                    "__array__() got an unexpected keyword argument '{name}'"
                )));
            }
            Ok(())
        })?;
        Ok(keywords)
    }
}

/// Makes a NumPy array of an object by `numpy.from_dlpack`, which calls its `__dlpack__`.
///
/// # Errors
///
/// `TypeError` for memory that is not on the host, and for a dtype that NumPy does not import;
/// those of `numpy.from_dlpack`.
pub(super) fn array_of(
    object: Borrowed<'_, 'static, PyAny>,
    class: &'static ClassVTable,
) -> PyResult<Bound<'static, PyAny>> {
    as_records(import(object, class, None)?, object, class)
}

/// Converts the bytes of records to records.
fn as_records(
    array: Bound<'static, PyAny>,
    object: Borrowed<'_, 'static, PyAny>,
    class: &'static ClassVTable,
) -> PyResult<Bound<'static, PyAny>> {
    match with_tensor(object, class, |view| Ok(view.record))? {
        Some(record) => records_of(&array, record),
        None => Ok(array),
    }
}

/// As [`array_of`], of the memory of the object itself.
fn array_without_copy(
    object: Borrowed<'_, 'static, PyAny>,
    class: &'static ClassVTable,
) -> PyResult<Bound<'static, PyAny>> {
    let py = object.py();
    let keywords = PyDict::new(py);
    keywords.set_item(intern!(py, "copy"), false)?;
    let array = import(object, class, Some(&keywords)).map_err(|error| {
        if !error.is_instance_of::<PyBufferError>(py) {
            return error;
        }
        // The array API standard requires this type of `__dlpack__`, and NumPy requires
        // `ValueError` of `__array__`.
        let refusal = PyValueError::new_err(error.value(py).to_string());
        refusal.set_cause(py, Some(error));
        refusal
    })?;
    as_records(array, object, class)
}

/// As [`array_of`], with the bytes of records in a last axis.
pub(super) fn import(
    object: Borrowed<'_, 'static, PyAny>,
    class: &'static ClassVTable,
    keywords: Option<&Bound<'static, PyDict>>,
) -> PyResult<Bound<'static, PyAny>> {
    let py = object.py();
    let (device, dtype) = with_tensor(object, class, |view| Ok((view.device(), view.dtype())))?;
    if !device.is_host() {
        return Err(PyTypeError::new_err(format!(
            "the memory of this `{}` is on {device}, which NumPy cannot use; copy it to the CPU \
             with `numpy.from_dlpack(x, device='cpu')`",
            class_name(object)?
        )));
    }
    NumPy::get(py)?.importer(py).call((object,), keywords).map_err(|error| {
        // NumPy raises `RuntimeError` without the name of the dtype.
        let refuses =
            error.is_instance_of::<PyBufferError>(py) || error.is_instance_of::<PyRuntimeError>(py);
        if !refuses || is_of_numpy(dtype) {
            return error;
        }
        let refusal = PyTypeError::new_err(format!(
            "expected a dtype that NumPy has, got {dtype}; use `from_dlpack` of a library that \
             has it, such as `torch.from_dlpack(x)`"
        ));
        refusal.set_cause(py, Some(error));
        refusal
    })
}
