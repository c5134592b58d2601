//! Implements the class method `from_dlpack` of importable classes.
//!
//! For a Python subclass the result is an object of the base class: a tensor does not
//! contain the additional attributes of the subclass.

use alloc::format;
use core::ffi::CStr;
use core::marker::PhantomData;

use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyType;
use pyo3::{Borrowed, PyClass};

use crate::device::Device;
use crate::import::{Copies, DLPackImport};
use crate::python::convert::{self, expected};
use crate::python::export::method_def::Arguments;
use crate::python::export::method_def::{Definition, ObjectMethod};
use crate::python::import::from_dlpack::from_dlpack_with;
use crate::python::import::import_object::kept;
use crate::python::import::import_options::ImportOptions;
use crate::python::interpreter::{LONG_COPY, detached_if};

/// A class whose objects can be created from tensors.
pub(in crate::python) trait ImportClass:
    PyClass + DLPackImport + Into<PyClassInitializer<Self>>
{
}

impl<T: PyClass + DLPackImport + Into<PyClassInitializer<T>>> ImportClass for T {}

const NAME: &str = "from_dlpack";

/// Returns the docstring of a class, which depends on whether the class copies the
/// elements. Python removes the signature from its first lines.
const fn doc(copies: Copies) -> &'static CStr {
    match copies {
        Copies::Never => {
            c"from_dlpack($type, x, /, *, device=None, copy=None)\n--\n\n\
              Make an object from any tensor that supports DLPack, without a copy.\n\n\
              device is a DLPack device such as (1, 0), or its name, such as 'cpu'; the\n\
              tensor's own if it is left out. copy=True always copies, copy=False never."
        }
        Copies::Always => {
            c"from_dlpack($type, x, /, *, device=None, copy=None)\n--\n\n\
              Make an object from a copy of any tensor that supports DLPack.\n\n\
              device is a DLPack device such as (1, 0), or its name, such as 'cpu'; the\n\
              tensor's own if it is left out. The class always\n\
              copies the elements, so copy=False is a BufferError."
        }
        Copies::Sometimes => {
            c"from_dlpack($type, x, /, *, device=None, copy=None)\n--\n\n\
              Make an object from any tensor that supports DLPack. The class copies the\n\
              elements of some tensors, such as those of some element types.\n\n\
              device is a DLPack device such as (1, 0), or its name, such as 'cpu'; the\n\
              tensor's own if it is left out. copy=True always copies,\n\
              copy=False is a BufferError for a tensor that the class copies."
        }
    }
}

/// Adds the class method `from_dlpack` to a class.
///
/// # Errors
///
/// `TypeError` if the class defines one itself, and those of adding to it.
pub(in crate::python) fn add_from_dlpack<T: ImportClass>(
    class: &Bound<'_, PyType>,
) -> PyResult<()> {
    // An inherited one is allowed: it creates objects of the base class.
    if let Ok(own) = class.getattr("__dict__")?.get_item(NAME) {
        // The class may have been added to another module before.
        if !own.getattr("__doc__")?.eq(documentation(doc(T::COPIES)))? {
            return Err(PyTypeError::new_err(format!(
                "`{}` already has a `{NAME}`; rename it, or leave `importable()` out",
                class.name()?.to_string_lossy()
            )));
        }
    }
    Definition::of::<FromDLPack<T>>().add_to(class)
}

/// Returns the part of the text that becomes `__doc__`.
fn documentation(text: &CStr) -> &str {
    let text = text.to_str().unwrap_or_default();
    text.split_once("--\n\n").map_or(text, |(_, rest)| rest)
}

/// `from_dlpack`. When called on a subclass it also creates an object of the class
/// itself: the attributes of a subclass cannot be made from a tensor.
struct FromDLPack<T>(PhantomData<T>);

impl<T: ImportClass> ObjectMethod for FromDLPack<T> {
    const NAME: &'static CStr = c"from_dlpack";
    const DOC: &'static CStr = doc(T::COPIES);
    const OF_CLASS: bool = true;

    fn call(
        class: Borrowed<'_, 'static, PyAny>,
        arguments: Arguments<'_>,
    ) -> PyResult<Bound<'static, PyAny>> {
        let py = class.py();
        let Some(object) = arguments.only_positional(py) else {
            return Err(PyTypeError::new_err(format!(
                "from_dlpack() takes exactly one positional argument ({} given)",
                arguments.positional()
            )));
        };
        let mut options = ImportOptions::new();
        arguments.for_each_keyword(py, |name, value| {
            options = set(options, name, &value)?;
            Ok(())
        })?;
        let asked = options.copy;
        if T::COPIES == Copies::Always {
            if asked == Some(false) {
                return Err(never_without_a_copy::<T>(py));
            }
            // The copy that the class makes is the requested one.
            options.copy = None;
        }
        let tensor = kept(&object, from_dlpack_with(&object, &options)?)?;
        if asked == Some(false) && T::copies(&tensor) {
            return Err(never_without_a_copy::<T>(py));
        }
        let is_long = tensor.numel() >= LONG_COPY && T::copies(&tensor);
        let value = detached_if(py, is_long, || <T as DLPackImport>::from_dlpack(tensor))?;
        Ok(Bound::new(py, value)?.into_any())
    }
}

/// Makes the error for `copy=False` if the class makes a copy.
#[cold]
fn never_without_a_copy<T: ImportClass>(py: Python<'_>) -> PyErr {
    match py.get_type::<T>().name() {
        Ok(name) => PyBufferError::new_err(format!(
            "`{name}` holds a copy of the elements, which copy=False forbids; leave `copy` out"
        )),
        Err(error) => error,
    }
}

/// Sets one keyword.
fn set<'a>(
    options: ImportOptions<'a>,
    name: &Bound<'_, PyAny>,
    value: &Bound<'_, PyAny>,
) -> PyResult<ImportOptions<'a>> {
    let name = name.extract::<alloc::string::String>()?;
    match name.as_str() {
        "device" | "copy" if value.is_none() => Ok(options),
        "device" => Ok(options.device(device(value)?)),
        "copy" => Ok(options.copy(convert::copy(value)?)),
        _ => Err(PyTypeError::new_err(format!(
            "from_dlpack() got an unexpected keyword argument '{}'",
            convert::Bounded(&name)
        ))),
    }
}

/// Converts a device: two integers, or the name of a device type with an optional index.
fn device(value: &Bound<'_, PyAny>) -> PyResult<Device> {
    let name = convert::ok_unless_exit(value.py(), value.extract::<alloc::string::String>())?;
    match name {
        None => convert::device(value, "device"),
        Some(name) => Device::from_name(&name)
            .ok_or_else(|| expected("`device` must be a device such as 'cpu' or 'cuda:0'", value)),
    }
}
