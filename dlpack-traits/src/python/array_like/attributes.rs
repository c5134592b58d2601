//! The attributes of array-like objects that read the description of the tensor, and
//! `__array_interface__`, which Pillow reads.

use alloc::format;
use alloc::string::ToString;
use core::ffi::CStr;

use pyo3::exceptions::{
    PyAttributeError, PyBufferError, PyException, PyModuleNotFoundError, PyTypeError,
};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::import::is_of_numpy;
use crate::python::array_like::buffer_protocol::{exporter_of, value};
use crate::python::array_like::method::{Method, Object, Returned, class_name, with_tensor};
use crate::python::convert::{caused_by, discard, error_text, ok_unless};
use crate::python::export::export_class::ClassVTable;
use crate::python::export::method_def::Arguments;
use crate::python::numpy::dtype_of_record;

/// `shape`.
pub(super) struct Shape;

impl Method for Shape {
    const NAME: &'static CStr = c"shape";
    const DOC: &'static CStr = c"The size of each dimension.";

    fn call(object: Object<'_>, _: Arguments<'_>, class: &'static ClassVTable) -> Returned {
        with_tensor(object, class, |view| {
            Ok(PyTuple::new(object.py(), view.outer_shape())?.into_any())
        })
    }
}

/// `ndim`.
pub(super) struct NDim;

impl Method for NDim {
    const NAME: &'static CStr = c"ndim";
    const DOC: &'static CStr = c"The number of dimensions.";

    fn call(object: Object<'_>, _: Arguments<'_>, class: &'static ClassVTable) -> Returned {
        with_tensor(object, class, |view| {
            Ok(view.outer_shape().len().into_pyobject(object.py())?.into_any())
        })
    }
}

/// `size`.
pub(super) struct Size;

impl Method for Size {
    const NAME: &'static CStr = c"size";
    const DOC: &'static CStr = c"The number of elements.";

    fn call(object: Object<'_>, _: Arguments<'_>, class: &'static ClassVTable) -> Returned {
        with_tensor(object, class, |view| {
            let of_each = view.record.map_or(1, |record| record.size().max(1));
            let size = view.numel().checked_div(i64::try_from(of_each)?).unwrap_or(0);
            Ok(size.into_pyobject(object.py())?.into_any())
        })
    }
}

/// `nbytes`.
pub(super) struct NBytes;

impl Method for NBytes {
    const NAME: &'static CStr = c"nbytes";
    const DOC: &'static CStr = c"The number of bytes of all elements, as of a contiguous copy.";

    fn call(object: Object<'_>, _: Arguments<'_>, class: &'static ClassVTable) -> Returned {
        with_tensor(object, class, |view| Ok(view.nbytes().into_pyobject(object.py())?.into_any()))
    }
}

/// `__sizeof__`, which `sys.getsizeof` calls.
pub(super) struct SizeOf;

impl Method for SizeOf {
    const NAME: &'static CStr = c"__sizeof__";
    const DOC: &'static CStr =
        c"__sizeof__($self, /)\n--\n\nReturn the bytes of the object and of its \
        elements.";

    fn call(object: Object<'_>, _: Arguments<'_>, class: &'static ClassVTable) -> Returned {
        let py = object.py();
        let own = py.get_type::<PyAny>().getattr(intern!(py, "__sizeof__"))?.call1((object,))?;
        let of_elements = with_tensor(object, class, |view| Ok(view.nbytes()))?;
        own.add(of_elements)
    }
}

/// `device`.
pub(super) struct Device;

impl Method for Device {
    const NAME: &'static CStr = c"device";
    const DOC: &'static CStr = c"The device of the memory, such as 'cpu' or 'cuda:0'.";

    fn call(object: Object<'_>, _: Arguments<'_>, class: &'static ClassVTable) -> Returned {
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

    fn call(object: Object<'_>, _: Arguments<'_>, class: &'static ClassVTable) -> Returned {
        let py = object.py();
        let (dtype, record) = with_tensor(object, class, |view| Ok((view.dtype(), view.record)))?;
        if let Some(record) = record {
            return dtype_of_record(py, record);
        }
        let name = dtype.to_string();
        if is_of_numpy(dtype) {
            // Without NumPy, no caller compares the result with a dtype of NumPy.
            let numpy = py.import(intern!(py, "numpy"));
            let is_other = |error: &PyErr| !error.is_instance_of::<PyModuleNotFoundError>(py);
            if let Some(numpy) = ok_unless(py, numpy, is_other)? {
                return numpy.getattr(intern!(py, "dtype"))?.call1((name,));
            }
        }
        Ok(name.into_pyobject(py)?.into_any())
    }
}

/// `__len__`.
pub(super) struct Len;

impl Method for Len {
    const NAME: &'static CStr = c"__len__";
    const DOC: &'static CStr = c"__len__($self, /)\n--\n\nReturn the size of the first dimension.";

    fn call(object: Object<'_>, _: Arguments<'_>, class: &'static ClassVTable) -> Returned {
        with_tensor(object, class, |view| match view.outer_shape() {
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

    fn call(object: Object<'_>, _: Arguments<'_>, class: &'static ClassVTable) -> Returned {
        let py = object.py();
        let name = class_name(object)?;
        let described = with_tensor(object, class, |view| {
            let shape = PyTuple::new(py, view.outer_shape())?.repr()?;
            let dtype = view.record.map_or_else(|| view.dtype().to_string(), ToString::to_string);
            let shape = shape.to_string_lossy();
            Ok(format!("{name}(shape={shape}, dtype={dtype}, device={})", view.device()))
        });
        // An object that cannot describe its tensor now can still be printed.
        let text = match described {
            Ok(text) => text,
            Err(error) if !error.is_instance_of::<PyException>(py) => return Err(error),
            Err(error) => {
                let reason = error_text(py, &error)?;
                discard(py, error);
                format!("<{name}: {reason}>")
            }
        };
        Ok(text.into_pyobject(py)?.into_any())
    }
}

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

    fn call(object: Object<'_>, _: Arguments<'_>, class: &'static ClassVTable) -> Returned {
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
            match error_text(py, &error) {
                Ok(text) => caused_by(py, missing(&text), error),
                Err(exit) => exit,
            }
        })?;
        let tensor = value(&exporter)?;
        if !tensor.is_c_contiguous() {
            return Err(missing(&"the elements are not contiguous; use `numpy.asarray(x)`"));
        }
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("shape", PyTuple::new(py, tensor.shape())?)?;
        interface.set_item("typestr", tensor.format.type_string())?;
        if let Some(record) = tensor.record {
            let descr = dtype_of_record(py, record)?.getattr(intern!(py, "descr"))?;
            interface.set_item("descr", descr)?;
        }
        interface.set_item("data", &exporter)?;
        Ok(interface.into_any())
    }
}
