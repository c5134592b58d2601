//! `__reduce_ex__`, by which `pickle` and `copy` take an object: [`ReduceEx`].

use alloc::format;
use core::ffi::CStr;

use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::array::array_of;
use super::array_class::{ArrayClass, class_name};
use super::method::{Method, Object, Returned};
use crate::python::export::arguments::Arguments;

/// `__reduce_ex__`.
///
/// The result is a call of the class method `from_dlpack` with the NumPy array of the tensor.
/// NumPy pickles the array. From protocol 5 on its memory, which is that of the tensor, is an
/// out-of-band buffer if the caller of the pickler takes such buffers, and the unpickled array
/// is over the memory that the caller of the unpickler provides. For an object of a subclass it is
/// what `__reduce__` of the subclass returns, or a `TypeError`.
pub(super) struct ReduceEx;

impl Method for ReduceEx {
    const NAME: &'static CStr = c"__reduce_ex__";
    const DOC: &'static CStr = c"__reduce_ex__($self, protocol, /)\n--\n\n\
        Return from_dlpack() of the class and a NumPy array of the tensor, for pickle and copy.\n\n\
        Protocol 5 of pickle passes the memory of the array out of band.";

    fn call(object: Object<'_>, arguments: Arguments<'_>, class: &'static ArrayClass) -> Returned {
        let py = object.py();
        if arguments.only_positional(py).is_none() {
            return Err(PyTypeError::new_err("__reduce_ex__() takes exactly one argument"));
        }
        let own = (class.class_object)(py);
        let of = object.get_type();
        if !of.is(&own) {
            // As `object.__reduce_ex__`, which this replaces: a subclass may define `__reduce__`.
            let reduce = intern!(py, "__reduce__");
            let inherited = py.get_type::<PyAny>().getattr(reduce)?;
            if !of.getattr(reduce)?.is(&inherited) {
                return object.call_method0(reduce);
            }
            let name = class_name(object)?;
            return Err(PyTypeError::new_err(format!(
                "a tensor does not contain what the subclass `{name}` adds to `{}`; define \
                 `__reduce__` in `{name}`",
                own.name()?
            )));
        }
        let make = own.getattr(intern!(py, "from_dlpack"))?;
        let arguments = PyTuple::new(py, [array_of(object, class)?])?;
        Ok(PyTuple::new(py, [make, arguments.into_any()])?.into_any())
    }
}
