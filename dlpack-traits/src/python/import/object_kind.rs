//! Classifies Python objects by their types: [`ObjectKind`].
//!
//! An import first tries the paths that tensors take, and classifies an object only after they
//! failed. No exception is interpreted: its text and traceback depend on the library and on the
//! version of Python.

use alloc::string::String;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{
    PyBytes, PyCapsule, PyComplex, PyFloat, PyInt, PyList, PyMemoryView, PyModule, PyRange,
    PyString, PyTuple, PyType,
};

use crate::python::convert::ok_unless_exit;
use crate::python::numpy::NumPy;
use crate::python::table::lookup::{OfObject, table_of};
use crate::python::table::owner_class::own_attribute;

/// The attributes by which types without DLPack expose their elements to NumPy.
const FOR_NUMPY: [&str; 3] = ["__array__", "__array_interface__", "__array_struct__"];

/// What an object is, by its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::python) enum ObjectKind {
    /// An object of a type with an exchange table.
    Table,
    /// An array of NumPy, or of a subclass.
    NumPy,
    Capsule,
    /// Another object with `__dlpack__`.
    DLPack,
    /// An object that NumPy makes an array of by `__array__` or an array interface.
    Array,
    /// `bytes`, of which NumPy makes text.
    Bytes,
    /// Another object of the buffer protocol.
    Buffer,
    /// A list, tuple or range, or a number.
    Values,
    /// A class, whose objects may be tensors.
    Class,
    Module,
    Other,
}

impl ObjectKind {
    /// Classifies an object. Its type is searched for methods as Python searches for special
    /// methods: along the method resolution order, without a call of `__getattr__` or
    /// `__getattribute__`, and `None` means that there is none.
    ///
    /// # Errors
    ///
    /// Those of [`ok_unless_exit`].
    #[cold]
    pub(in crate::python) fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = object.py();
        let class = object.get_type();
        let table = ok_unless_exit(py, table_of(object))?.flatten();
        if table.and_then(OfObject::export).is_some() {
            return Ok(Self::Table);
        }
        // A subclass may set its method to `None`.
        let is_producer = has(&class, "__dlpack__")?;
        if is_producer && NumPy::is_array(object)? {
            return Ok(Self::NumPy);
        }
        if object.is_exact_instance_of::<PyCapsule>() {
            return Ok(Self::Capsule);
        }
        if is_producer {
            return Ok(Self::DLPack);
        }
        // Attributes of a class and of a module are not methods of it.
        if object.is_instance_of::<PyType>() {
            return Ok(Self::Class);
        }
        if object.is_instance_of::<PyModule>() {
            return Ok(Self::Module);
        }
        if holds(object, "__dlpack__")? {
            return Ok(Self::DLPack);
        }
        if object.is_instance_of::<PyBytes>() {
            return Ok(Self::Bytes);
        }
        for name in FOR_NUMPY {
            if has(&class, name)? {
                return Ok(Self::Array);
            }
        }
        let of_numbers = object.is_instance_of::<PyList>()
            || object.is_instance_of::<PyTuple>()
            || object.is_instance_of::<PyRange>()
            || object.is_instance_of::<PyInt>()
            || object.is_instance_of::<PyFloat>()
            || object.is_instance_of::<PyComplex>();
        if of_numbers {
            return Ok(Self::Values);
        }
        let has_buffer = ok_unless_exit(py, PyMemoryView::from(object))?.is_some();
        Ok(if has_buffer { Self::Buffer } else { Self::Other })
    }

    /// Whether an object of this kind exports a tensor, or raises the reason why it does not.
    pub(in crate::python) const fn is_tensor(self) -> bool {
        matches!(self, Self::Table | Self::NumPy | Self::Capsule | Self::DLPack)
    }

    /// Whether NumPy makes an array of an object of this kind.
    pub(in crate::python) const fn is_for_numpy(self) -> bool {
        matches!(self, Self::Array | Self::Bytes | Self::Buffer | Self::Values)
    }
}

/// Whether a class or a base has an attribute that is not `None`.
///
/// # Errors
///
/// Those of [`ok_unless_exit`].
pub(in crate::python) fn has(class: &Bound<'_, PyType>, name: &str) -> PyResult<bool> {
    Ok(own_attribute(class, name)?.is_some_and(|found| !found.is_none()))
}

/// Whether NumPy makes an array of an object by a method or an attribute, which it also finds where the
/// object itself has it, or passes it on.
///
/// # Errors
///
/// Those of [`ok_unless_exit`].
pub(in crate::python) fn has_array(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    for name in FOR_NUMPY {
        let found = ok_unless_exit(object.py(), object.getattr_opt(name))?.flatten();
        if found.is_some_and(|found| !found.is_none()) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether an object is one of a class of `collections.abc`.
///
/// # Errors
///
/// Those of [`ok_unless_exit`].
pub(in crate::python) fn is_a(object: &Bound<'_, PyAny>, name: &str) -> PyResult<bool> {
    let class = object.py().import("collections.abc")?.getattr(name)?;
    Ok(ok_unless_exit(object.py(), object.is_instance(&class))? == Some(true))
}

/// Whether an object itself stores an attribute that is not `None`. `object.__getattribute__`
/// reads it, which does not call the `__getattr__` of a class.
fn holds(object: &Bound<'_, PyAny>, name: &str) -> PyResult<bool> {
    let py = object.py();
    let base = py.get_type::<PyAny>();
    let found = base.call_method1(intern!(py, "__getattribute__"), (object, name));
    Ok(ok_unless_exit(py, found)?.is_some_and(|found| !found.is_none()))
}

/// The kinds of NumPy's dtypes whose elements are numbers.
pub(in crate::python) const NUMBERS: &str = "biufc";

/// Whether the dtype that an object states, or else the format of its buffer, is one of numbers or
/// `bool`; `None` if it states none that NumPy describes by a `kind`.
///
/// # Errors
///
/// Those of [`ok_unless_exit`].
pub(in crate::python) fn has_numbers(object: &Bound<'_, PyAny>) -> PyResult<Option<bool>> {
    // `g` and `G` are floats of a size that depends on the platform.
    if matches!(letter_of_dtype(object, "char")?, Some('g' | 'G')) {
        return Ok(Some(false));
    }
    if let Some(kind) = kind_of_dtype(object)? {
        return Ok(Some(NUMBERS.contains(kind)));
    }
    let py = object.py();
    let format = || PyMemoryView::from(object)?.getattr(intern!(py, "format"))?.extract::<String>();
    // `c` is a character, `u` and `w` are characters of Unicode, `T{` begins a struct.
    Ok(ok_unless_exit(py, format())?
        .map(|format| !format.ends_with(['c', 'u', 'w', 's']) && !format.contains("T{")))
}

/// The `kind` of the dtype that an object states, as of NumPy.
///
/// # Errors
///
/// Those of [`ok_unless_exit`].
pub(in crate::python) fn kind_of_dtype(object: &Bound<'_, PyAny>) -> PyResult<Option<char>> {
    letter_of_dtype(object, "kind")
}

/// An attribute of the dtype that an object states, which is a text of one letter.
fn letter_of_dtype(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Option<char>> {
    let py = object.py();
    let read = || -> PyResult<Option<char>> {
        let dtype = object.getattr(intern!(py, "dtype"))?;
        let Some(found) = dtype.getattr_opt(name)? else { return Ok(None) };
        let Ok(found) = found.cast_into::<PyString>() else { return Ok(None) };
        Ok(found.to_string_lossy().chars().next())
    };
    Ok(ok_unless_exit(py, read())?.flatten())
}
