//! The attributes of array-like objects that read the description of the tensor.

use alloc::format;
use alloc::string::ToString;
use core::ffi::CStr;

use pyo3::exceptions::{PyException, PyModuleNotFoundError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::array_class::{ArrayClass, with_tensor};
use super::format::Format;
use super::method::{Method, Object, Returned};
use crate::dtype::DataType;
use crate::python::convert::discard;
use crate::python::export::arguments::Arguments;

/// `shape`.
pub(super) struct Shape;

impl Method for Shape {
    const NAME: &'static CStr = c"shape";
    const DOC: &'static CStr = c"The size of each dimension.";

    fn call(object: Object<'_>, _: Arguments<'_>, class: &'static ArrayClass) -> Returned {
        with_tensor(object, class, |view| Ok(PyTuple::new(object.py(), view.shape())?.into_any()))
    }
}

/// `ndim`.
pub(super) struct NDim;

impl Method for NDim {
    const NAME: &'static CStr = c"ndim";
    const DOC: &'static CStr = c"The number of dimensions.";

    fn call(object: Object<'_>, _: Arguments<'_>, class: &'static ArrayClass) -> Returned {
        with_tensor(object, class, |view| Ok(view.ndim().into_pyobject(object.py())?.into_any()))
    }
}

/// `size`.
pub(super) struct Size;

impl Method for Size {
    const NAME: &'static CStr = c"size";
    const DOC: &'static CStr = c"The number of elements.";

    fn call(object: Object<'_>, _: Arguments<'_>, class: &'static ArrayClass) -> Returned {
        with_tensor(object, class, |view| Ok(view.numel().into_pyobject(object.py())?.into_any()))
    }
}

/// `device`.
pub(super) struct Device;

impl Method for Device {
    const NAME: &'static CStr = c"device";
    const DOC: &'static CStr = c"The device of the memory, such as 'cpu' or 'cuda:0'.";

    fn call(object: Object<'_>, _: Arguments<'_>, class: &'static ArrayClass) -> Returned {
        with_tensor(object, class, |view| {
            Ok(view.device().to_string().into_pyobject(object.py())?.into_any())
        })
    }
}

/// `dtype`.
pub(super) struct DType;

impl Method for DType {
    const NAME: &'static CStr = c"dtype";
    const DOC: &'static CStr = c"The type of the elements: a numpy.dtype, or the name of a type \
        that NumPy does not have.";

    fn call(object: Object<'_>, _: Arguments<'_>, class: &'static ArrayClass) -> Returned {
        let py = object.py();
        let dtype = with_tensor(object, class, |view| Ok(view.dtype()))?;
        let name = dtype.to_string();
        if is_of_numpy(dtype) {
            // Without NumPy, no caller compares the result with a dtype of NumPy.
            match py.import(intern!(py, "numpy")) {
                Ok(numpy) => return numpy.getattr(intern!(py, "dtype"))?.call1((name,)),
                Err(error) if error.is_instance_of::<PyModuleNotFoundError>(py) => {
                    discard(py, error);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(name.into_pyobject(py)?.into_any())
    }
}

/// Whether NumPy has this type.
fn is_of_numpy(dtype: DataType) -> bool {
    Format::of(dtype).is_some()
}

/// `__len__`.
pub(super) struct Len;

impl Method for Len {
    const NAME: &'static CStr = c"__len__";
    const DOC: &'static CStr = c"__len__($self, /)\n--\n\nReturn the size of the first dimension.";

    fn call(object: Object<'_>, _: Arguments<'_>, class: &'static ArrayClass) -> Returned {
        with_tensor(object, class, |view| match view.shape() {
            [first, ..] => Ok(first.into_pyobject(object.py())?.into_any()),
            [] => Err(PyTypeError::new_err("a tensor without dimensions has no len()")),
        })
    }
}

/// `__repr__`.
pub(super) struct Repr;

impl Method for Repr {
    const NAME: &'static CStr = c"__repr__";
    const DOC: &'static CStr = c"__repr__($self, /)\n--\n\nReturn repr(self).";

    fn call(object: Object<'_>, _: Arguments<'_>, class: &'static ArrayClass) -> Returned {
        let py = object.py();
        let name = object.get_type().name()?;
        let described = with_tensor(object, class, |view| {
            let shape = PyTuple::new(py, view.shape())?.repr()?;
            Ok(format!("{name}(shape={shape}, dtype={}, device={})", view.dtype(), view.device()))
        });
        // An object that cannot describe its tensor now can still be printed.
        let text = match described {
            Ok(text) => text,
            Err(error) if !error.is_instance_of::<PyException>(py) => return Err(error),
            Err(error) => {
                let reason = error.value(py).to_string();
                discard(py, error);
                format!("<{name}: {reason}>")
            }
        };
        Ok(text.into_pyobject(py)?.into_any())
    }
}
