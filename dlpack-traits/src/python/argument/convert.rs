//! Arguments that are converted if necessary: [`Convert`].

use alloc::format;
use alloc::string::{String, ToString};
use core::ops::Deref;

use pyo3::exceptions::{PyImportError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use pyo3::{Borrowed, intern};

use super::advice::Library;
use super::{PyTensor, checks};
use crate::dtype::DataType;
use crate::import::{ImportedElement, ImportedTensor, is_of_numpy};
use crate::python::convert::{discard, is_exit, is_refusal};
use crate::python::import::from_dlpack::{check_mask, from_dlpack, import_unexplained};
use crate::python::import::import_options::ImportOptions;
use crate::python::import::object_kind::ObjectKind;

/// An array argument that is converted by NumPy if it is not an array, or has another dtype:
/// a list, a number, an object of the buffer protocol or with `__array__`.
///
/// ```ignore,no_run,standalone_crate
/// use dlpack_traits::python::{Convert, PyTensor};
/// use pyo3::prelude::*;
///
/// /// Accepts `[1, 2.5]`, `range(3)`, `numpy.ones(3)`, and `float32` tensors zero-copy.
/// #[pyfunction]
/// fn largest(x: Convert<PyTensor<'_, f32>>) -> f32 {
///     x.elements().iter().fold(f32::NEG_INFINITY, f32::max)
/// }
/// ```
///
/// An array that meets the type is passed as it is, zero-copy. Otherwise NumPy converts it: it
/// copies lists, numbers and elements of another dtype. An empty array converts to any numeric
/// dtype. Otherwise the rule is NumPy's `casting="same_kind"`, and integers must keep their values:
///
/// | from | to | |
/// |---|---|---|
/// | `bool`, integers | integers | if every value fits; otherwise `ValueError` |
/// | `bool`, integers, floats | floats, complex numbers | rounded to the nearest value |
/// | floats, complex numbers | integers | `TypeError` |
/// | integers, floats, complex numbers | `bool` | `TypeError` |
/// | complex numbers | floats | `TypeError` |
/// | text, objects, times | | `TypeError` |
///
/// The number of dimensions and the device are not converted.
/// [`as_object`](PyTensor::as_object) is the array that was passed, or the array that NumPy
/// made of another object.
///
/// A [`PyTensorMut`](super::PyTensorMut) cannot be converted, because the function would
/// write to the copy:
///
/// ```compile_fail,E0277
/// # use dlpack_traits::python::{Convert, PyTensorMut};
/// fn scale(array: Convert<PyTensorMut<'_, f32>>) {}
/// ```
///
/// # Errors
///
/// Those of [`PyTensor`], and `TypeError` if a conversion is needed and NumPy is not
/// installed.
#[derive(Debug)]
pub struct Convert<A: Convertible>(pub A);

/// An argument that can be converted: [`PyTensor`]. This trait is sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be converted",
    label = "not an array that is only read",
    note = "`Convert` accepts `PyTensor`. A function that writes an array in place would write to a copy: use `PyTensorMut` without `Convert`"
)]
pub trait Convertible: sealed::FromObject {}

impl<T: ImportedElement, const N: usize> Convertible for PyTensor<'_, T, N> {}

mod sealed {
    use pyo3::prelude::*;

    pub trait FromObject: Sized {
        fn from_object(object: &Bound<'_, PyAny>) -> PyResult<Self>;
    }
}

impl<T: ImportedElement, const N: usize> sealed::FromObject for PyTensor<'_, T, N> {
    fn from_object(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (tensor, source) = match import_unexplained(object, &ImportOptions::new()) {
            Ok(tensor) if is_to_be_cast::<T>(object, &tensor) => {
                drop(tensor);
                let array = converted(object, T::DTYPE, array_of_tensor)?;
                (from_dlpack(&array)?, object.clone())
            }
            Ok(tensor) => (tensor, object.clone()),
            Err(error) if is_to_be_made(object, &error)? => {
                let array = after(object.py(), error, || converted(object, T::DTYPE, asarray))?;
                (from_dlpack(&array)?, array)
            }
            Err(error) => return Err(error),
        };
        checks::check::<T>(object, &tensor, N)?;
        Ok(Self::new(tensor, source.unbind()))
    }
}

impl<A: Convertible> FromPyObject<'_, '_> for Convert<A> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        A::from_object(&object).map(Self)
    }
}

impl<A: Convertible> Deref for Convert<A> {
    type Target = A;

    #[inline]
    fn deref(&self) -> &A {
        &self.0
    }
}

/// Whether the elements of a tensor have another type. A capsule can be imported only once,
/// and memory of a device is not copied.
fn is_to_be_cast<T: ImportedElement>(object: &Bound<'_, PyAny>, tensor: &ImportedTensor) -> bool {
    let has_other_type = T::DTYPE.is_some_and(|dtype| dtype != tensor.dtype());
    has_other_type && tensor.device().is_host() && !object.is_exact_instance_of::<PyCapsule>()
}

/// Whether NumPy may convert an object that was not imported: one that does not implement the
/// DLPack protocol, or an array of NumPy that it cannot export, such as one of another byte
/// order.
fn is_to_be_made(object: &Bound<'_, PyAny>, error: &PyErr) -> PyResult<bool> {
    let py = object.py();
    if is_exit(py, error) {
        return Ok(false);
    }
    let kind = ObjectKind::of(object)?;
    if kind == ObjectKind::NumPy {
        check_mask(object)?;
        return Ok(is_refusal(py, error));
    }
    Ok(!kind.is_tensor())
}

/// Makes an array of NumPy that has elements of the type `dtype`.
#[cold]
fn converted<'py>(
    object: &Bound<'py, PyAny>,
    dtype: Option<DataType>,
    array: fn(&Bound<'py, PyAny>, &Bound<'py, PyModule>) -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    let numpy = match py.import(intern!(py, "numpy")) {
        Ok(numpy) => numpy,
        Err(error) if error.is_instance_of::<PyImportError>(py) => {
            let class = object.get_type().fully_qualified_name()?.to_string();
            let instead = PyTypeError::new_err(format!(
                "{}, got `{class}`, which only NumPy could convert; NumPy cannot be imported: {}",
                expected(dtype),
                error.value(py)
            ));
            discard(py, error);
            return Err(instead);
        }
        Err(error) => return Err(error),
    };
    let array = array(object, &numpy)?;
    let found = array.getattr(intern!(py, "dtype"))?;
    let from: char = found.getattr(intern!(py, "kind"))?.extract()?;
    let Some(dtype) = dtype else {
        return if "OSUMm".contains(from) {
            Err(not_cast(object, None, &found))
        } else {
            Ok(array)
        };
    };
    if !is_of_numpy(dtype) {
        return Err(not_cast(object, Some(dtype), &found));
    }
    let to = numpy.call_method1(intern!(py, "dtype"), (dtype.to_string(),))?;
    let kind: char = to.getattr(intern!(py, "kind"))?.extract()?;
    let are_integers = "biu".contains(from) && "iu".contains(kind);
    let is_empty = array.getattr(intern!(py, "size"))?.extract::<usize>()? == 0;
    let rule = (&found, &to, intern!(py, "same_kind"));
    let is_allowed = !"OSUMm".contains(from)
        && (are_integers
            || is_empty
            || numpy.call_method1(intern!(py, "can_cast"), rule)?.is_truthy()?);
    if !is_allowed {
        return Err(not_cast(object, Some(dtype), &found));
    }
    let keywords = PyDict::new(py);
    keywords.set_item(intern!(py, "copy"), false)?;
    let made = array.call_method(intern!(py, "astype"), (&to,), Some(&keywords))?;
    let is_equal = || numpy.call_method1(intern!(py, "array_equal"), (&made, &array))?.is_truthy();
    if are_integers && !is_equal()? {
        return Err(PyValueError::new_err(format!(
            "{}, got {found} with a value that does not fit",
            expected(Some(dtype))
        )));
    }
    Ok(made)
}

/// An array over the memory of an object that implements the DLPack protocol. The elements
/// may have a type that only `__array__` supports.
fn array_of_tensor<'py>(
    object: &Bound<'py, PyAny>,
    numpy: &Bound<'py, PyModule>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    match numpy.call_method1(intern!(py, "from_dlpack"), (object,)) {
        Err(error) if is_refusal(py, &error) && object.hasattr(intern!(py, "__array__"))? => {
            after(py, error, || asarray(object, numpy))
        }
        array => array,
    }
}

/// Makes a second attempt after a refusal. An error of it has the refusal as its cause.
fn after<T>(py: Python<'_>, refusal: PyErr, attempt: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    match attempt() {
        Ok(made) => {
            discard(py, refusal);
            Ok(made)
        }
        Err(error) => {
            error.set_cause(py, Some(refusal));
            Err(error)
        }
    }
}

fn asarray<'py>(
    object: &Bound<'py, PyAny>,
    numpy: &Bound<'py, PyModule>,
) -> PyResult<Bound<'py, PyAny>> {
    numpy.call_method1(intern!(object.py(), "asarray"), (object,))
}

fn expected(dtype: Option<DataType>) -> String {
    match dtype {
        Some(dtype) => format!("expected {dtype}"),
        None => "expected an array".to_string(),
    }
}

/// The error for elements that the rule does not convert.
fn not_cast(object: &Bound<'_, PyAny>, dtype: Option<DataType>, found: &Bound<'_, PyAny>) -> PyErr {
    let advice = match (dtype, Library::of(object)) {
        (_, Err(interrupt)) => return interrupt,
        (Some(dtype), Ok(library)) => library.cast_by_numpy(dtype),
        (None, Ok(_)) => String::new(),
    };
    PyTypeError::new_err(format!(
        "{}, got {found}, which is not converted because values could be lost{advice}",
        expected(dtype),
    ))
}
