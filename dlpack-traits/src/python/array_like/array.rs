//! `__array__`, by which NumPy converts an object: [`Array`].

use alloc::format;
use core::ffi::CStr;

use pyo3::exceptions::{PyBufferError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::IntoPyDict;
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
        let mut array = import(object, class, keywords.copy == Some(false))?;
        if let Some(record) = with_tensor(object, class, |view| Ok(view.record))? {
            array = records_of(&array, record)?;
        }
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
                array.getattr(intern!(py, "dtype"))?.str()?.to_string_lossy(),
                dtype.str()?.to_string_lossy()
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

/// Makes a NumPy array of an object by `numpy.from_dlpack`, which calls its `__dlpack__`. The bytes of
/// records are a last axis. With `no_copy`, it is over the memory of the object itself.
///
/// # Errors
///
/// `TypeError` for memory that is not on the host, and for a dtype that NumPy does not import;
/// `ValueError` if there is no array without a copy; those of `numpy.from_dlpack`.
pub(super) fn import(
    object: Borrowed<'_, 'static, PyAny>,
    class: &'static ClassVTable,
    no_copy: bool,
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
    let keywords =
        if no_copy { Some([(intern!(py, "copy"), false)].into_py_dict(py)?) } else { None };
    NumPy::get(py)?.importer(py).call((object,), keywords.as_ref()).map_err(|error| {
        let is_refusal = error.is_instance_of::<PyBufferError>(py);
        // NumPy raises `RuntimeError` without the name of the dtype.
        let is_of_dtype = is_refusal || error.is_instance_of::<PyRuntimeError>(py);
        let instead = if is_of_dtype && !is_of_numpy(dtype) {
            PyTypeError::new_err(format!(
                "expected a dtype that NumPy has, got {dtype}; use `from_dlpack` of a library that \
                 has it, such as `torch.from_dlpack(x)`"
            ))
        } else if is_refusal && no_copy {
            // The array API standard requires `BufferError` of `__dlpack__`, and NumPy requires
            // `ValueError` of `__array__`.
            match convert::error_text(py, &error) {
                Ok(text) => PyValueError::new_err(text),
                Err(exit) => return exit,
            }
        } else {
            return error;
        };
        convert::caused_by(py, instead, error)
    })
}
