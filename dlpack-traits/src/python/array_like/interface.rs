//! `__array_interface__`, which Pillow reads: [`ArrayInterface`].

use alloc::format;
use core::ffi::CStr;

use pyo3::exceptions::{PyAttributeError, PyBufferError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::array_class::ArrayClass;
use super::buffer_protocol::{exporter_of, value};
use super::method::{Method, Object, Returned};
use crate::python::export::arguments::Arguments;

/// `__array_interface__`, version 3.
///
/// Its `data` is an exporter, which owns the memory, and not an address: the address of a
/// `Vec` that a method reallocates would be invalid afterwards. An exporter has no layout
/// that consumers of this interface read, so only contiguous tensors have the attribute.
pub(super) struct ArrayInterface;

impl Method for ArrayInterface {
    const NAME: &'static CStr = c"__array_interface__";
    const DOC: &'static CStr =
        c"The NumPy array interface, version 3, of a contiguous tensor on the \
        CPU, for PIL.Image.fromarray().";

    fn call(object: Object<'_>, _: Arguments<'_>, class: &'static ArrayClass) -> Returned {
        let py = object.py();
        // Consumers treat an `AttributeError` as an object without this attribute.
        let missing = |reason: &dyn core::fmt::Display| {
            PyAttributeError::new_err(format!("there is no `__array_interface__`: {reason}"))
        };
        let exporter = exporter_of(object, class).map_err(|error| {
            // Other errors, such as `MemoryError`, are not about the tensor.
            let refused = error.is_instance_of::<PyBufferError>(py)
                || error.is_instance_of::<PyTypeError>(py);
            if !refused {
                return error;
            }
            let missing = missing(&error.value(py));
            missing.set_cause(py, Some(error));
            missing
        })?;
        let tensor = value(&exporter)?;
        if !tensor.is_c_contiguous() {
            return Err(missing(&"the elements are not contiguous; use `numpy.asarray(x)`"));
        }
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("shape", PyTuple::new(py, tensor.shape())?)?;
        interface.set_item("typestr", tensor.format.type_string(py)?)?;
        interface.set_item("data", &exporter)?;
        Ok(interface.into_any())
    }
}
