//! Checks an argument against its Rust type, and makes the exceptions that users of a
//! function expect.

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;

use pyo3::exceptions::{PyAttributeError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;

use super::advice::Library;
use super::fixed_rank::ANY_RANK;
use crate::describe::check_imported;
use crate::dtype::DataType;
use crate::error::Error;
use crate::ffi;
use crate::import::{ImportError, ImportedElement, ImportedTensor, is_of_numpy};
use crate::python::convert::{discard, ok_or_discard};
use crate::python::import::from_dlpack::from_dlpack;
use crate::python::table::lookup::requires_grad;
use crate::strides;

/// Imports an argument, for elements of the type `dtype` if it is known.
///
/// # Errors
///
/// `TypeError` if the object is not a tensor; otherwise those of [`from_dlpack`].
#[inline]
pub(super) fn import(
    object: &Bound<'_, PyAny>,
    dtype: Option<DataType>,
) -> PyResult<ImportedTensor> {
    from_dlpack(object).map_err(|error| not_a_tensor(object, dtype, error))
}

/// Imports an argument that the function changes. A list is rejected without a suggestion
/// how to convert it, because the function would change the copy.
///
/// # Errors
///
/// As for [`import`].
#[inline]
pub(super) fn import_mut(object: &Bound<'_, PyAny>) -> PyResult<ImportedTensor> {
    from_dlpack(object).map_err(|error| not_a_tensor_to_change(object, error))
}

#[cold]
fn not_a_tensor_to_change(object: &Bound<'_, PyAny>, error: PyErr) -> PyErr {
    let py = object.py();
    if !has_no_protocol(object, &error) {
        return error;
    }
    let text = error.value(py).to_string();
    let found = text.split_once("; pass ").map_or(text.as_str(), |(found, _)| found);
    let instead = PyTypeError::new_err(format!(
        "{found}; the function changes its argument in place, so pass a tensor, such as one of \
         NumPy or PyTorch"
    ));
    discard(py, error);
    instead
}

/// Converts the `AttributeError` of an object without `__dlpack__` to a `TypeError`.
/// Returns every other error unchanged: one that Python code raised has a traceback, and
/// one about another object names that object.
#[cold]
pub(super) fn not_a_tensor(
    object: &Bound<'_, PyAny>,
    dtype: Option<DataType>,
    error: PyErr,
) -> PyErr {
    let py = object.py();
    if !has_no_protocol(object, &error) {
        return error;
    }
    let mut text = error.value(py).to_string();
    if let Some(dtype) = dtype.filter(|dtype| is_of_numpy(*dtype)) {
        text = text.replace("numpy.asarray(x)", &format!("numpy.asarray(x, '{dtype}')"));
    }
    discard(py, error);
    PyTypeError::new_err(text)
}

/// Whether an import failed because the object does not implement the DLPack protocol.
#[cold]
pub(super) fn has_no_protocol(object: &Bound<'_, PyAny>, error: &PyErr) -> bool {
    let py = object.py();
    if !error.get_type(py).is(py.get_type::<PyAttributeError>()) || error.traceback(py).is_some() {
        return false;
    }
    let value = error.value(py);
    let of = ok_or_discard(py, value.getattr(intern!(py, "obj")));
    let name = value.getattr(intern!(py, "name")).and_then(|name| name.extract());
    let name: Option<alloc::string::String> = ok_or_discard(py, name);
    let is_missing = matches!(name.as_deref(), Some("__dlpack__" | "__dlpack_device__"));
    is_missing && of.is_some_and(|of| of.is(object))
}

/// Checks dtype, device and number of dimensions of an argument.
///
/// # Errors
///
/// `TypeError` for another dtype, `ValueError` for memory that the processor cannot read
/// and for another number of dimensions.
#[inline]
pub(super) fn check<T: ImportedElement>(
    object: &Bound<'_, PyAny>,
    tensor: &ImportedTensor,
    rank: usize,
) -> PyResult<()> {
    match T::check(tensor) {
        // Elements are accessed byte by byte, at any alignment.
        Ok(()) | Err(Error::Misaligned { .. }) => {}
        Err(error) => return Err(rejected(object, tensor, error)),
    }
    let device = tensor.device();
    if !device.is_host() {
        return Err(rejected(object, tensor, Error::NotOnHost { device }));
    }
    check_rank::<T>(object, tensor, rank)
}

/// Checks an argument that the function changes: as [`check`], [`check_writable`], and that
/// autograd need not see the changes.
///
/// # Errors
///
/// Those of [`check`] and [`check_writable`]; `ValueError` for a tensor that requires a
/// gradient.
#[inline]
pub(super) fn check_mut<T: ImportedElement>(
    object: &Bound<'_, PyAny>,
    tensor: &ImportedTensor,
    rank: usize,
) -> PyResult<()> {
    match T::DTYPE {
        Some(asked) if asked != tensor.dtype() => {
            return Err(of_dtype_to_change(object, asked, tensor));
        }
        _ => check::<T>(object, tensor, rank)?,
    }
    check_writable(object, tensor)?;
    check_no_grad(object, tensor)
}

#[cold]
fn of_dtype_to_change(
    object: &Bound<'_, PyAny>,
    asked: DataType,
    tensor: &ImportedTensor,
) -> PyErr {
    of_dtypes_to_change(object, tensor, &[asked], None)
}

/// Makes the exception for an argument of none of these dtypes, with the conversion to the
/// first one. The message begins with the name of the argument, if there is one.
#[cold]
pub(super) fn of_dtypes(
    object: &Bound<'_, PyAny>,
    tensor: &ImportedTensor,
    expected: &[DataType],
    name: Option<&str>,
) -> PyErr {
    of_dtypes_with(object, tensor, expected, name, "")
}

/// As [`of_dtypes`], for an argument that the function changes.
#[cold]
pub(super) fn of_dtypes_to_change(
    object: &Bound<'_, PyAny>,
    tensor: &ImportedTensor,
    expected: &[DataType],
    name: Option<&str>,
) -> PyErr {
    let note = "; the function changes the tensor in place, so keep the converted copy";
    of_dtypes_with(object, tensor, expected, name, note)
}

/// As [`of_dtypes`], with a note before the conversion.
#[cold]
fn of_dtypes_with(
    object: &Bound<'_, PyAny>,
    tensor: &ImportedTensor,
    expected: &[DataType],
    name: Option<&str>,
    note: &str,
) -> PyErr {
    // The words of PyO3 before 0.29.
    let argument = name.map(|name| format!("argument '{name}': ")).unwrap_or_default();
    with_advice(object, |library| {
        let advice = expected.first().map(|&to| library.cast(tensor, to)).unwrap_or_default();
        let mismatch = expected_dtypes(expected, tensor.dtype());
        PyTypeError::new_err(format!("{argument}{mismatch}{note}{advice}"))
    })
}

/// "expected float32 or float64, got int64".
fn expected_dtypes(expected: &[DataType], found: DataType) -> String {
    let mut text = String::from("expected ");
    match expected {
        [] => text.push_str("another dtype"),
        [first, rest @ ..] => {
            text.push_str(&first.to_string());
            for (index, dtype) in rest.iter().enumerate() {
                let is_last = index.wrapping_add(1) == rest.len();
                text.push_str(if is_last { " or " } else { ", " });
                text.push_str(&dtype.to_string());
            }
        }
    }
    text.push_str(", got ");
    text.push_str(&found.to_string());
    text
}

/// Makes an exception with advice for the library of the object.
#[cold]
fn with_advice(object: &Bound<'_, PyAny>, error: impl FnOnce(Library) -> PyErr) -> PyErr {
    match Library::of(object) {
        Ok(library) => error(library),
        Err(interrupt) => interrupt,
    }
}

/// Checks dtype, alignment and number of dimensions of an argument in memory of a device.
///
/// # Errors
///
/// `TypeError` for another dtype, `ValueError` otherwise.
pub(super) fn check_on_device<T: ImportedElement>(
    object: &Bound<'_, PyAny>,
    tensor: &ImportedTensor,
    rank: usize,
) -> PyResult<()> {
    if let Some(requested) = T::DTYPE {
        let found = tensor.dtype();
        if requested != found {
            return Err(rejected(object, tensor, Error::ElementMismatch { requested, found }));
        }
        let outer = outer_shape::<T>(tensor).len();
        if tensor.shape().get(outer..) != Some(T::AXES) || !is_contiguous(tensor, outer) {
            return Err(rejected(object, tensor, Error::AxesMismatch { axes: T::AXES }));
        }
        // Kernels load whole elements.
        check_imported(tensor.data_ptr(), requested, tensor.device())
            .map_err(ImportError::Tensor)?;
    }
    check_rank::<T>(object, tensor, rank)
}

/// Whether the axes from `first` on are contiguous in row-major order.
fn is_contiguous(tensor: &ImportedTensor, first: usize) -> bool {
    let axes = tensor.shape().iter().zip(tensor.strides()).skip(first).rev();
    let mut expected = 1_i64;
    axes.into_iter().all(|(&dim, &stride)| {
        let is_expected = dim == 1 || stride == expected;
        expected = expected.saturating_mul(dim);
        is_expected
    })
}

/// Checks the number of dimensions.
#[inline]
fn check_rank<T: ImportedElement>(
    object: &Bound<'_, PyAny>,
    tensor: &ImportedTensor,
    rank: usize,
) -> PyResult<()> {
    if rank == ANY_RANK || rank == outer_shape::<T>(tensor).len() {
        return Ok(());
    }
    let of_element = tensor.ndim().saturating_sub(outer_shape::<T>(tensor).len());
    Err(of_rank(object, tensor, rank.saturating_add(of_element)))
}

/// Checks that the elements of an argument may be written.
///
/// # Errors
///
/// `ValueError` for read-only memory, and for elements that share memory.
#[inline]
pub(super) fn check_writable(object: &Bound<'_, PyAny>, tensor: &ImportedTensor) -> PyResult<()> {
    if tensor.is_read_only() {
        return Err(read_only(object, tensor));
    }
    if strides::may_overlap(tensor.shape(), tensor.strides()) {
        return Err(overlapping(object, tensor));
    }
    Ok(())
}

/// Checks that autograd need not see changes of an argument.
///
/// # Errors
///
/// `ValueError` for a tensor that requires a gradient, and those of [`requires_grad`].
#[inline]
pub(super) fn check_no_grad(object: &Bound<'_, PyAny>, tensor: &ImportedTensor) -> PyResult<()> {
    // A tensor of integers cannot require a gradient.
    let code = tensor.dtype().code();
    if matches!(code, ffi::kDLInt | ffi::kDLUInt | ffi::kDLBool) || !requires_grad(object)? {
        return Ok(());
    }
    Err(PyValueError::new_err(
        "expected a tensor that does not require a gradient, because autograd does not record \
         the changes; pass `x.detach()` (PyTorch)",
    ))
}

/// The shape without the axes that belong to each element.
#[inline]
pub(super) fn outer_shape<T: ImportedElement>(tensor: &ImportedTensor) -> &[i64] {
    let axes = if T::DTYPE == Some(tensor.dtype()) { T::AXES.len() } else { 0 };
    let shape = tensor.shape();
    shape.get(..shape.len().saturating_sub(axes)).unwrap_or(shape)
}

/// Makes the exception for an argument that does not meet its type.
#[cold]
fn rejected(object: &Bound<'_, PyAny>, tensor: &ImportedTensor, error: Error) -> PyErr {
    match error {
        Error::ElementMismatch { requested, found } => with_advice(object, |library| {
            let advice = library.cast(tensor, requested);
            PyTypeError::new_err(format!("expected {requested}, got {found}{advice}"))
        }),
        Error::NotOnHost { device } => with_advice(object, |library| {
            let advice = library.on_host();
            PyValueError::new_err(format!("expected host memory, got memory on {device}; {advice}"))
        }),
        Error::AxesMismatch { axes } => PyValueError::new_err(format!(
            "expected a shape that ends in {}, contiguous there, got shape {}",
            Shape(axes),
            Shape(tensor.shape())
        )),
        error => ImportError::Tensor(error).into(),
    }
}

#[cold]
fn of_rank(object: &Bound<'_, PyAny>, tensor: &ImportedTensor, expected: usize) -> PyErr {
    let dimensions = if expected == 1 { "dimension" } else { "dimensions" };
    with_advice(object, |library| {
        PyValueError::new_err(format!(
            "expected {expected} {dimensions}, got {} of shape {}{}",
            tensor.ndim(),
            Shape(tensor.shape()),
            library.of_rank(tensor, expected)
        ))
    })
}

#[cold]
fn overlapping(object: &Bound<'_, PyAny>, tensor: &ImportedTensor) -> PyErr {
    with_advice(object, |library| {
        PyValueError::new_err(format!(
            "expected elements that do not share memory, got a broadcast or overlapping tensor; \
             {}",
            library.copied(tensor)
        ))
    })
}

#[cold]
fn read_only(object: &Bound<'_, PyAny>, tensor: &ImportedTensor) -> PyErr {
    with_advice(object, |library| {
        let (found, advice) = if library == Library::Jax {
            ("an array of JAX, which is immutable", library.copied(tensor))
        } else if tensor.version().is_some() {
            ("a read-only one", library.copied(tensor))
        } else {
            ("a legacy DLPack capsule, which has no READ_ONLY flag", library.versioned(tensor))
        };
        PyValueError::new_err(format!("expected a writable tensor, got {found}; {advice}"))
    })
}

/// A shape as Python prints it.
struct Shape<'a>(&'a [i64]);

impl fmt::Display for Shape<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        for (axis, dim) in self.0.iter().enumerate() {
            if axis != 0 {
                f.write_str(", ")?;
            }
            dim.fmt(f)?;
        }
        f.write_str(if self.0.len() == 1 { ",)" } else { ")" })
    }
}
