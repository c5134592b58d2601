//! The exceptions for an argument that does not meet its type, with their texts: what was
//! expected and received. `advice` has the conversions that they suggest.

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt};

use crate::device::Device;
use crate::dtype::DataType;
use crate::error::Error;
use crate::ffi;
use crate::import::{ImportError, ImportedTensor, best_of, is_beyond};
use crate::python::convert::{Bounded, class_name, is_exit};
use crate::python::import::advice::{Advice, Library};
use crate::python::import::from_dlpack::{instead_of, text_unless_passed_on};
use crate::python::import::missing_values::{check_mask, dense, mask_of};
use crate::python::import::not_exported::{NO_NUMBERS, expected, not_exported, numbers_of};
use crate::python::import::object_kind::{ObjectKind, is_a};
use crate::python::interpreter::{LONG_COPY, detached_if};
use crate::python::numpy::Mask;

/// Makes the exception for an argument that could not be imported: a `TypeError` that suggests
/// what to pass if the object is not a tensor, and otherwise the error of its producer.
#[cold]
pub(super) fn not_imported(object: &Bound<'_, PyAny>, advice: &Advice, error: PyErr) -> PyErr {
    let py = object.py();
    if is_exit(py, &error) {
        return error;
    }
    let kind = match ObjectKind::of(object) {
        Ok(kind) => kind,
        Err(exit) => return exit,
    };
    if kind.is_tensor() {
        return not_exported(object, kind, advice, error);
    }
    let checked = match advice {
        Advice::Convert(_) => check_mask(object),
        Advice::InPlace(_) => check_in_place(object, |mask| mask.hides),
    };
    if let Err(masked) = checked {
        return masked;
    }
    match text_unless_passed_on(object, kind, advice) {
        Ok(None) => error,
        Ok(Some(text)) => instead_of(py, error, PyTypeError::new_err(text)),
        Err(exit) => exit,
    }
}

/// Rejects a masked array, because the function would change masked elements too, and a wrapper of
/// one. `rejects` states which masks.
#[cold]
pub(super) fn check_in_place(
    object: &Bound<'_, PyAny>,
    rejects: impl Fn(&Mask) -> bool,
) -> PyResult<()> {
    let Some((mask, part)) = mask_of(object)?.filter(|(mask, _)| rejects(mask)) else {
        return Ok(());
    };
    let bare = if mask.is_of_numpy { "data" } else { "unmasked" };
    Err(PyTypeError::new_err(format!(
        "expected an array without a mask, got {}; the function changes its argument in place, with \
         the masked elements: pass `x{part}.{bare}`, the array without the mask",
        class_name(&object.get_type())?
    )))
}

/// Makes the exception for an argument of none of these dtypes, with a note and the conversion to one
/// of them. The message begins with the name of the argument, if there is one.
#[cold]
pub(in crate::python) fn of_dtypes(
    passed: Passed<'_, '_>,
    tensor: &ImportedTensor,
    expected: &[DataType],
    name: Option<&str>,
    note: &str,
) -> PyErr {
    // The words of PyO3 before 0.29.
    let argument = name.map(|name| format!("argument '{name}': ")).unwrap_or_default();
    let py = passed.object.py();
    with_advice(passed, |library| {
        let found = tensor.dtype();
        let advice = best_of(found, expected)
            .map(|to| conversion((py, library), tensor, to, note, MOST_READ))
            .unwrap_or_default();
        let mismatch = expected_dtypes(expected, found);
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

/// What the caller passed, for advice: an object, or one of a library that is known, because NumPy made
/// the array of the argument of it.
#[derive(Clone, Copy)]
pub(in crate::python) struct Passed<'a, 'py> {
    pub(in crate::python) object: &'a Bound<'py, PyAny>,
    pub(in crate::python) library: Option<Library>,
}

impl<'a, 'py> From<&'a Bound<'py, PyAny>> for Passed<'a, 'py> {
    #[inline]
    fn from(object: &'a Bound<'py, PyAny>) -> Self {
        Self { object, library: None }
    }
}

/// Makes an exception with advice for the library of the object.
#[cold]
fn with_advice(passed: Passed<'_, '_>, error: impl FnOnce(Library) -> PyErr) -> PyErr {
    let Passed { object, library } = passed;
    match library.map_or_else(|| Library::of(object), Ok) {
        Ok(library) => error(library),
        Err(interrupt) => interrupt,
    }
}

/// The most elements that are read for advice about an argument that is not converted: callers may try
/// several types by their errors.
const MOST_READ: i64 = 1 << 14;

/// The most elements that are read for advice about one that is: a broadcast array may have more than can
/// be read.
const MOST_READ_IF_CONVERTED: i64 = 1 << 26;

/// How to convert the elements of a tensor: by an expression, unless it would make arbitrary values. Of a
/// tensor of more than `most` elements the values are not read.
fn conversion(
    (py, library): (Python<'_>, Library),
    tensor: &ImportedTensor,
    to: DataType,
    note: &str,
    most: i64,
) -> String {
    let is_long = tensor.numel() >= LONG_COPY;
    if tensor.numel() <= most && detached_if(py, is_long, || is_beyond(tensor, to)) {
        return format!(
            "; some values are missing or beyond the range of {to}: replace them first"
        );
    }
    library.cast((tensor.dtype(), tensor.device()), to, note)
}

/// Makes the exception for elements that the rule of casts does not convert.
#[cold]
pub(super) fn not_cast(passed: Passed<'_, '_>, tensor: &ImportedTensor, to: DataType) -> PyErr {
    let (py, found) = (passed.object.py(), tensor.dtype());
    with_advice(passed, |library| {
        let is_read = tensor.numel() <= MOST_READ_IF_CONVERTED;
        let advice = if is_read {
            conversion((py, library), tensor, to, "", i64::MAX)
        } else {
            String::new()
        };
        PyTypeError::new_err(format!(
            "expected {to}, got {found}, which is not converted because values could be lost{advice}"
        ))
    })
}

/// Makes the exception for elements that could not be copied. For bits that are not a `bool`, the general
/// error names expressions for several libraries.
#[cold]
pub(super) fn not_copied(passed: Passed<'_, '_>, tensor: &ImportedTensor, error: Error) -> PyErr {
    match error {
        Error::InvalidBits { dtype: DataType::BOOL } => with_advice(passed, |library| {
            PyValueError::new_err(format!("{error}{}", library.bools(tensor)))
        }),
        error => error.into(),
    }
}

/// Makes the exception for an object of which NumPy makes an array without numbers.
#[cold]
pub(super) fn not_numbers(
    object: &Bound<'_, PyAny>,
    kind: ObjectKind,
    array: &Bound<'_, PyAny>,
    to: Option<DataType>,
) -> PyErr {
    let py = object.py();
    let text = || -> PyResult<String> {
        let dtype = array.getattr(intern!(py, "dtype"))?;
        let letter = dtype.getattr(intern!(py, "kind"))?.extract::<char>()?;
        let name = dtype.str()?;
        let name = Bounded(&name.to_string_lossy()).to_string();
        let found = match (kind, letter) {
            (ObjectKind::NumPy, _) => format!("an array of {name}"),
            (_, 'O') => class_name(&object.get_type())?,
            _ => format!("{name} in {}", class_name(&object.get_type())?),
        };
        let cure = match kind {
            ObjectKind::NumPy => numbers_of(array, "", to)?,
            // NumPy makes NaN of `None`.
            ObjectKind::Values if has_none(array)? => NO_NUMBERS.to_string(),
            ObjectKind::Array | ObjectKind::Values => numbers_of(array, "numpy.asarray(x)", to)?,
            _ => match dense(object, "x")? {
                Some(dense) => format!("pass `{dense}`"),
                None if is_a(object, "Generator")? || is_a(object, "ValuesView")? => {
                    "pass `list(x)`".to_string()
                }
                None => NO_NUMBERS.to_string(),
            },
        };
        Ok(format!("{}, got {found}; {cure}", expected(to)))
    };
    text().map_or_else(|error| error, PyTypeError::new_err)
}

fn has_none(array: &Bound<'_, PyAny>) -> PyResult<bool> {
    for item in array.call_method0(intern!(array.py(), "ravel"))?.try_iter()? {
        if item?.is_none() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Makes the exception for integers of which NumPy makes an array of objects, because one does not fit
/// in 64 bits; `None` for objects that are not all numbers.
///
/// The size is that in bits: the digits of a number may be more than Python converts to text.
#[cold]
pub(super) fn too_large(array: &Bound<'_, PyAny>, to: Option<DataType>) -> PyResult<Option<PyErr>> {
    let py = array.py();
    let mut large = None;
    for item in array.call_method0(intern!(py, "ravel"))?.try_iter()? {
        let item = item?;
        if item.is_instance_of::<PyInt>() {
            if item.extract::<i64>().is_err() && item.extract::<u64>().is_err() {
                large = item.call_method0(intern!(py, "bit_length"))?.extract::<u64>()?.into();
            }
        } else if !item.is_instance_of::<PyFloat>() {
            return Ok(None);
        }
    }
    let Some(bits) = large else { return Ok(None) };
    let numbers = match to {
        Some(to) => range_of(to).unwrap_or_else(|| String::from("floats")),
        None => String::from("numbers from -2**63 to 2**64 - 1, or floats"),
    };
    Ok(Some(PyValueError::new_err(format!(
        "{}, got an `int` of {bits} bits, which does not fit in 64; pass {numbers}",
        expected(to)
    ))))
}

/// "numbers from 0 to 255"; `None` for floats and complex numbers.
pub(in crate::python) fn range_of(dtype: DataType) -> Option<String> {
    let unused = 64_u32.saturating_sub(dtype.bits().into());
    Some(match dtype.code() {
        ffi::kDLUInt => format!("numbers from 0 to {}", u64::MAX.checked_shr(unused).unwrap_or(0)),
        ffi::kDLInt => {
            let least = i64::MIN >> unused.min(63);
            format!("numbers from {least} to {}", !least)
        }
        ffi::kDLBool => String::from("bools"),
        _ => return None,
    })
}

/// Makes the exception for an argument that does not meet its type. `keep` is [`KEEP`] if the function
/// changes it.
///
/// [`KEEP`]: crate::python::import::advice::KEEP
#[cold]
pub(super) fn rejected(
    object: &Bound<'_, PyAny>,
    tensor: &ImportedTensor,
    error: Error,
    keep: &str,
) -> PyErr {
    match error {
        Error::ElementMismatch { requested, found } => with_advice(object.into(), |library| {
            let advice = conversion((object.py(), library), tensor, requested, "", MOST_READ);
            PyTypeError::new_err(format!("expected {requested}, got {found}{advice}"))
        }),
        Error::AxesMismatch { axes } if tensor.shape().ends_with(axes) => {
            with_advice(object.into(), |library| {
                let advice = library.row_major(tensor, keep);
                PyValueError::new_err(format!(
                    "expected dimensions of {} at the end, contiguous there, got strides {}; {advice}",
                    Shape(axes),
                    Shape(tensor.strides())
                ))
            })
        }
        Error::AxesMismatch { axes } => PyValueError::new_err(format!(
            "expected a shape that ends in {}, got shape {}",
            Shape(axes),
            Shape(tensor.shape())
        )),
        error => ImportError::Tensor(error).into(),
    }
}

/// Makes the exception for memory that the processor cannot read. `keep` is as in [`rejected`].
#[cold]
pub(super) fn not_on_host(object: &Bound<'_, PyAny>, device: Device, keep: &str) -> PyErr {
    with_advice(object.into(), |library| {
        let advice = library.on_host();
        PyValueError::new_err(format!(
            "expected host memory, got memory on {device}; pass {keep}{advice}"
        ))
    })
}

#[cold]
pub(super) fn of_rank(passed: Passed<'_, '_>, tensor: &ImportedTensor, expected: usize) -> PyErr {
    let dimensions = if expected == 1 { "dimension" } else { "dimensions" };
    with_advice(passed, |library| {
        PyValueError::new_err(format!(
            "expected {expected} {dimensions}, got {} of shape {}{}",
            tensor.ndim(),
            Shape(tensor.shape()),
            library.of_rank(tensor, expected)
        ))
    })
}

#[cold]
pub(super) fn overlapping(object: &Bound<'_, PyAny>, tensor: &ImportedTensor) -> PyErr {
    with_advice(object.into(), |library| {
        PyValueError::new_err(format!(
            "expected elements that do not share memory, got a tensor that is broadcast or may \
             overlap; {}",
            library.copied(tensor.dtype(), tensor.device())
        ))
    })
}

#[cold]
pub(super) fn read_only(object: &Bound<'_, PyAny>, tensor: &ImportedTensor) -> PyErr {
    with_advice(object.into(), |library| {
        let (dtype, device) = (tensor.dtype(), tensor.device());
        let (found, advice) = if library == Library::Jax {
            ("an array of JAX, which is immutable", library.copied(dtype, device))
        } else if tensor.version().is_some() {
            ("a read-only one", library.copied(dtype, device))
        } else {
            (
                "a legacy DLPack capsule, which has no READ_ONLY flag",
                library.versioned(dtype, device),
            )
        };
        PyValueError::new_err(format!("expected a writable tensor, got {found}; {advice}"))
    })
}

/// A shape as Python prints it.
pub(in crate::python) struct Shape<'a>(pub(in crate::python) &'a [i64]);

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
