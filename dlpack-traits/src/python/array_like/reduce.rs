//! `__reduce_ex__`, by which `pickle` and `copy` take an object: [`ReduceEx`].

use alloc::format;
use alloc::vec::Vec;
use core::ffi::CStr;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use pyo3::{Borrowed, intern};

use crate::python::array_like::array::import;
use crate::python::array_like::method::{Method, Object, Returned, class_name};
use crate::python::export::export_class::ClassVTable;
use crate::python::export::method_def::{Arguments, ObjectMethod};

/// `__reduce_ex__`.
///
/// The result is a call of the class method `from_dlpack` with the NumPy array of the tensor.
/// NumPy pickles the array. From protocol 5 on its memory, which is that of the tensor, is an
/// out-of-band buffer if the caller of the pickler takes such buffers, and the unpickled array
/// is over the memory that the caller of the unpickler provides. NumPy makes an array contiguous
/// when it pickles it, so the strides of another one are passed to [`FromStrided`] beside it.
///
/// The attributes in the `__dict__` of an object are passed on as they are by
/// `object.__reduce_ex__`. For an object of a subclass the result is what `__reduce__` of the
/// subclass returns, or a `TypeError`.
pub(super) struct ReduceEx;

impl Method for ReduceEx {
    const NAME: &'static CStr = c"__reduce_ex__";
    const DOC: &'static CStr = c"__reduce_ex__($self, protocol, /)\n--\n\n\
        Return from_dlpack() of the class and a NumPy array of the tensor, for pickle and copy.\n\n\
        Protocol 5 of pickle passes the memory of the array out of band.";

    fn call(object: Object<'_>, arguments: Arguments<'_>, class: &'static ClassVTable) -> Returned {
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
                own.name()?.to_string_lossy()
            )));
        }
        let array = import(object, class, false)?;
        let (make, arguments) = if is_contiguous(&array)? {
            (FROM_DLPACK, PyTuple::new(py, [array])?)
        } else {
            let received = own.call_method1(FROM_DLPACK, (&array,))?;
            if !has_strides_of(&import(received.as_borrowed(), class, false)?, &array)? {
                return Err(PyTypeError::new_err(format!(
                    "`from_dlpack` of `{name}` copies the elements into another order, so a copy \
                     of this object would have other strides; define `__reduce__` in `{name}`",
                    name = own.name()?.to_string_lossy()
                )));
            }
            let strides = array.getattr(intern!(py, "strides"))?;
            (FromStrided::TEXT, PyTuple::new(py, [array, strides])?)
        };
        let reduced = [own.getattr(make)?, arguments.into_any()];
        match object.getattr_opt(intern!(py, "__dict__"))? {
            Some(attributes) if !attributes.is_empty()? => {
                let [make, arguments] = reduced;
                Ok(PyTuple::new(py, [make, arguments, attributes])?.into_any())
            }
            _ => Ok(PyTuple::new(py, reduced)?.into_any()),
        }
    }
}

const FROM_DLPACK: &str = "from_dlpack";

/// Whether an array is contiguous in row-major order.
fn is_contiguous(array: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = array.py();
    array.getattr(intern!(py, "flags"))?.getattr(intern!(py, "c_contiguous"))?.is_truthy()
}

/// Whether two arrays of one shape have the same strides. That of a single element does not
/// count.
fn has_strides_of(array: &Bound<'_, PyAny>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
    let shape = numbers(array, "shape")?;
    let strides = numbers(array, "strides")?.into_iter().zip(numbers(other, "strides")?);
    Ok(shape.into_iter().zip(strides).all(|(dim, (one, other))| dim <= 1 || one == other))
}

/// Returns a tuple of an array.
fn numbers(array: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<i64>> {
    array.getattr(name)?.extract()
}

/// The class method that makes an object of an array, and of the strides that the array had
/// before it was pickled.
pub(super) struct FromStrided;

impl FromStrided {
    const TEXT: &'static str = "_from_strided";
}

impl ObjectMethod for FromStrided {
    const NAME: &'static CStr = c"_from_strided";
    const DOC: &'static CStr = c"_from_strided($type, array, strides, /)\n--\n\n\
        Make an object of an array that was pickled, for pickle and copy.";
    const OF_CLASS: bool = true;

    fn call(class: Borrowed<'_, 'static, PyAny>, arguments: Arguments<'_>) -> Returned {
        let arguments = PyTuple::new(class.py(), arguments.all_positional(class.py()))?;
        let (array, strides) = arguments.extract::<(Bound<'static, PyAny>, Vec<i64>)>()?;
        let array = if numbers(&array, "strides")? == strides {
            array
        } else {
            with_strides(&array, &strides)?
        };
        class.call_method1(FROM_DLPACK, (array,))
    }
}

/// Copies an array into new memory with other strides, in bytes.
fn with_strides<'py>(array: &Bound<'py, PyAny>, strides: &[i64]) -> PyResult<Bound<'py, PyAny>> {
    let py = array.py();
    let itemsize = array.getattr(intern!(py, "itemsize"))?.extract::<i64>()?;
    // The distances of the lowest byte and of the end from the first element.
    let mut range = Some((0_i64, itemsize));
    for (dim, stride) in numbers(array, "shape")?.into_iter().zip(strides) {
        range = range.and_then(|(low, end)| {
            let reach = dim.checked_sub(1)?.checked_mul(*stride)?;
            Some((low.checked_add(reach.min(0))?, end.checked_add(reach.max(0))?))
        });
    }
    let sizes = range.and_then(|(low, end)| Some((low.checked_neg()?, end.checked_sub(low)?)));
    let (offset, bytes) =
        sizes.ok_or_else(|| PyValueError::new_err("the strides in the pickle are too large"))?;
    let numpy = py.import(intern!(py, "numpy"))?;
    let memory = numpy.getattr(intern!(py, "zeros"))?.call1((bytes, "u1"))?;
    let like = (
        array.getattr(intern!(py, "shape"))?,
        array.getattr(intern!(py, "dtype"))?,
        memory,
        offset,
        PyTuple::new(py, strides)?,
    );
    // NumPy checks that the memory contains every element.
    let target = numpy.getattr(intern!(py, "ndarray"))?.call1(like)?;
    target.set_item(py.Ellipsis(), array)?;
    Ok(target)
}
