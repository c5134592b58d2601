//! Arguments that are converted if necessary: [`Convert`].

use alloc::format;
use core::ops::Deref;

use pyo3::Borrowed;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use super::by_numpy::{Made, by_numpy_after};
use super::mismatch::{self, Passed};
use super::{PyTensor, checks};
use crate::dtype::DataType;
use crate::error::Error;
use crate::import::{AreStored, CastError, ImportedElement, ImportedTensor, is_beyond};
use crate::python::convert::{discard, is_exit, ok_unless_exit};
use crate::python::import::import_object::import_object;
use crate::python::import::import_options::ImportOptions;
use crate::python::import::missing_values::is_column;
use crate::python::import::not_exported::missing_text;
use crate::python::interpreter::detached_if;

/// An array argument that is converted if it has another dtype, or if it is not a tensor: a list,
/// a number, an object of the buffer protocol or with `__array__`.
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
/// An array that meets the type is passed as it is, zero-copy. A tensor of any library with another
/// numeric dtype is copied in Rust, in one pass. NumPy makes an array of every other object, and of
/// an array that its library does not export: in another byte order, or of a field of a packed
/// record; of a data frame of pandas with columns such as `Int64`, column by column. Tensors in a list
/// are converted as each is, and integers in it keep their values if `T` is stated. A numeric array without elements converts to any numeric dtype. Otherwise values are kept:
///
/// | from | to | |
/// |---|---|---|
/// | `bool`, integers | integers | if every value fits; otherwise `ValueError` |
/// | `bool`, integers, floats | floats, complex numbers | rounded to the nearest value; `ValueError` if a finite one would become infinite |
/// | complex numbers | complex numbers | the same |
/// | floats, complex numbers | integers | `TypeError` |
/// | integers, floats, complex numbers | `bool` | `TypeError` |
/// | complex numbers | floats | `TypeError` |
/// | `int` of Python that does not fit in 64 bits | | `ValueError` |
/// | text, objects, times, mappings | | `TypeError` |
///
/// Floats include `float16`, `bfloat16` and those of 8 bits. A tensor of PyTorch that requires a
/// gradient is converted as `x.detach()` is.
///
/// A masked element of `numpy.ma` is a `TypeError`, also in an item of a list or in an array of Dask.
///
/// Elements such as `[f32; 3]` that are not contiguous, as in a column-major array, are copied too. The
/// number of dimensions and the device are not converted.
/// [`as_object`](PyTensor::as_object) is the array that was passed, or the array that NumPy
/// made of another object. Its dtype is the one before the cast.
///
/// A [`PyTensorMut`](super::PyTensorMut) cannot be converted, because the function would
/// write to the copy:
///
/// ```compile_fail,E0277
/// # use dlpack_traits::python::{Convert, PyTensorMut};
/// fn scale(array: Convert<PyTensorMut<'_, f32>>) {}
/// ```
///
/// [`As`](crate::As) is for elements that are converted while they are read, without a copy: `PyTensor<'_,
/// As<f32>>`, and not in `Convert`.
///
/// # Errors
///
/// Those of [`PyTensor`], and `TypeError` if an object is not a tensor and NumPy is not installed.
/// Other exceptions than a refusal of the producer (`TypeError`, `BufferError`, `RuntimeError`,
/// `ValueError`) are passed on.
#[derive(Debug)]
pub struct Convert<A: Convertible>(pub A);

/// An argument that can be converted: [`PyTensor`]. This trait is sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be converted",
    label = "not an array that is only read",
    note = "`Convert` accepts `PyTensor`. A function that writes an array in place would write to a copy: use `PyTensorMut` without `Convert`. Of an optional array write `Option<Convert<..>>`, of several `Vec<Convert<..>>`"
)]
pub trait Convertible: sealed::FromObject {}

impl<T: ImportedElement, const N: usize> Convertible for PyTensor<'_, T, N> where
    T::Converted: AreStored
{
}

mod sealed {
    use pyo3::prelude::*;

    pub trait FromObject: Sized {
        fn from_object(object: &Bound<'_, PyAny>) -> PyResult<Self>;
    }
}

impl<T: ImportedElement, const N: usize> sealed::FromObject for PyTensor<'_, T, N>
where
    T::Converted: AreStored,
{
    fn from_object(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        const { assert!(T::RECORD.is_none(), "records are not converted: `PyRecords<'_, Particle>`") };
        let (tensor, source, made_of) =
            converted(object, T::DTYPE).map_err(|error| or_missing(object, T::DTYPE, error))?;
        let passed = Passed { object, library: made_of };
        let tensor = match T::check(&tensor) {
            Err(Error::AxesMismatch { axes }) if tensor.shape().ends_with(axes) => {
                copied(object, &tensor, ImportedTensor::to_row_major_copy)
                    .map_err(|error| mismatch::not_copied(passed, &tensor, error))?
            }
            _ => tensor,
        };
        checks::check::<T>(passed, &tensor, N, "")?;
        Ok(Self::new(tensor, source.unbind()).made_of(made_of))
    }
}

impl<A: Convertible> FromPyObject<'_, '_> for Convert<A> {
    type Error = PyErr;
    #[cfg(feature = "stubs")]
    const INPUT_TYPE: pyo3::inspect::PyStaticExpr = super::super::stubs::ARRAY_LIKE;

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

/// Imports an object as elements of a type if it is known, and converts it if necessary.
#[inline]
fn converted<'py>(object: &Bound<'py, PyAny>, to: Option<DataType>) -> PyResult<Made<'py>> {
    let (tensor, source, made_of) = match import_object(object, &ImportOptions::new()) {
        Ok(tensor) => (tensor, object.clone(), None),
        Err(error) => by_numpy_after(object, error, to)?,
    };
    let tensor = match to {
        Some(to) if to != tensor.dtype() && tensor.device().is_host() => {
            cast(Passed { object, library: made_of }, &tensor, to)?
        }
        _ => tensor,
    };
    Ok((tensor, source, made_of))
}

/// Replaces a `TypeError` by one about missing values, if the object converts without them, or has then
/// floats that an expression converts: a column of pandas, polars or Arrow, whose integers become floats
/// if some are missing.
#[cold]
fn or_missing(object: &Bound<'_, PyAny>, to: Option<DataType>, error: PyErr) -> PyErr {
    let py = object.py();
    if !error.is_instance_of::<PyTypeError>(py) {
        return error;
    }
    match is_column(object) {
        Ok(true) => {}
        Ok(false) => return error,
        Err(exit) => return exit,
    }
    let lacks = |object: &Bound<'_, PyAny>| {
        let (tensor, ..) = converted(object, None)?;
        Ok::<_, PyErr>(to.is_some_and(|to| is_beyond(&tensor, to)))
    };
    let accepts = |filled: &Bound<'_, PyAny>| match converted(filled, to) {
        // A value that does not fit is the next error.
        Err(error) if !error.is_instance_of::<PyValueError>(py) => {
            discard(py, error);
            Ok(lacks(object)? && !lacks(filled)?)
        }
        result => ok_unless_exit(py, result).map(|_| true),
    };
    match missing_text(object, to, accepts) {
        Ok(None) => error,
        Ok(Some(text)) => {
            discard(py, error);
            PyTypeError::new_err(text)
        }
        Err(masked) => masked,
    }
}

/// As [`or_missing`], for an object that was converted to an array of none of these types.
#[cold]
pub(in crate::python) fn or_with_missing(
    object: &Bound<'_, PyAny>,
    expected: &[DataType],
    error: PyErr,
) -> PyErr {
    let (py, Some(&to)) = (object.py(), expected.first()) else { return error };
    match is_column(object) {
        Ok(true) => {}
        Ok(false) => return error,
        Err(exit) => return exit,
    }
    match converted(object, Some(to)) {
        Ok(_) => error,
        Err(exit) if is_exit(py, &exit) => exit,
        Err(second) => {
            // A value that does not fit is not missing.
            let is_missing = second.is_instance_of::<PyTypeError>(py);
            discard(py, second);
            if is_missing { or_missing(object, Some(to), error) } else { error }
        }
    }
}

/// Copies the elements of a tensor as another type.
#[cold]
fn cast(passed: Passed<'_, '_>, tensor: &ImportedTensor, to: DataType) -> PyResult<ImportedTensor> {
    let found = tensor.dtype();
    copied(passed.object, tensor, |tensor| tensor.cast(to)).map_err(|error| match error {
        CastError::NotAllowed => mismatch::not_cast(passed, tensor, to),
        CastError::OutOfRange => PyValueError::new_err(format!(
            "expected {to}, got {found} with a value that does not fit"
        )),
        CastError::Tensor(error) => mismatch::not_copied(passed, tensor, error),
    })
}

/// Calls a function that copies the elements of a tensor. If it takes 20 µs or more, other Python
/// threads run meanwhile.
fn copied<R>(
    object: &Bound<'_, PyAny>,
    tensor: &ImportedTensor,
    copy: impl FnOnce(&ImportedTensor) -> R + Send,
) -> R {
    detached_if(object.py(), tensor.numel() >= 1 << 15, || copy(tensor))
}
