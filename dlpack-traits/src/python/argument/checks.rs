//! Checks an argument against its Rust type, and the numbers of dimensions that this type can
//! name ([`FixedRank`]). The exceptions are made in `mismatch`.

use alloc::format;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::mismatch::{
    Passed, check_in_place, not_imported, not_on_host, of_dtypes, of_rank, overlapping, read_only,
    rejected,
};
use crate::alignment::check_imported;
use crate::backend::{Backend, MemoryRef, has_addresses};
use crate::element::RecordType;
use crate::error::Error;
use crate::ffi;
use crate::import::{ImportError, ImportedElement, ImportedTensor};
use crate::python::import::advice::{Advice, KEEP, KEEP_CONVERTED};
use crate::python::import::import_object::import_object;
use crate::python::import::import_options::ImportOptions;
use crate::python::import::missing_values::check_mask;
use crate::python::numpy::{NumPy, bytes_of_records};
use crate::python::table::lookup::requires_grad;
use crate::strides;

/// The number of dimensions of a [`PyTensor`](super::PyTensor) that accepts every number of
/// dimensions.
pub const ANY_RANK: usize = usize::MAX;

/// A number of dimensions.
#[derive(Clone, Copy, Debug)]
pub struct Rank<const N: usize>;

/// A number of dimensions that is known when the program is compiled, up to 16.
#[diagnostic::on_unimplemented(
    message = "the type of this argument does not name the number of dimensions",
    note = "name it, as in `PyTensor<'_, f32, 2>`, or use `shape()`"
)]
pub trait FixedRank {}

macro_rules! fixed {
    ($($rank:literal)+) => {$(impl FixedRank for Rank<$rank> {})+};
}

fixed!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16);

/// Imports an argument.
///
/// # Errors
///
/// `TypeError` if the object is not a tensor; otherwise those of [`import_object`].
#[inline]
pub(super) fn import<T: ImportedElement>(object: &Bound<'_, PyAny>) -> PyResult<ImportedTensor> {
    if let Some(record) = T::RECORD {
        return import_records(object, record, "");
    }
    import_object(object, &ImportOptions::new())
        .map_err(|error| not_imported(object, &Advice::Convert(T::ADVISED), error))
}

/// Imports an array of records of NumPy, as one of their bytes.
///
/// # Errors
///
/// Those of [`bytes_of_records`] and [`check_mask`].
#[cold]
fn import_records(
    object: &Bound<'_, PyAny>,
    record: &RecordType,
    note: &str,
) -> PyResult<ImportedTensor> {
    let bytes = bytes_of_records(object, record, note)?;
    check_mask(object)?;
    import_object(&bytes, &ImportOptions::new())
}

/// Imports an argument that the function changes. A list is rejected without a suggestion
/// how to convert it, because the function would change the copy.
///
/// # Errors
///
/// As for [`import`].
#[inline]
pub(super) fn import_mut<T: ImportedElement>(
    object: &Bound<'_, PyAny>,
) -> PyResult<ImportedTensor> {
    let imported = match T::RECORD {
        Some(record) => import_records(object, record, KEEP_CONVERTED),
        None => import_object(object, &ImportOptions::new()),
    };
    // Also if it was rejected for its masked elements, with another advice.
    if NumPy::is_of_subclass(object)? {
        check_in_place(object, |mask| mask.hides || mask.is_of_numpy)?;
    }
    if T::RECORD.is_some() {
        return imported;
    }
    imported.map_err(|error| not_imported(object, &Advice::InPlace(T::DTYPE), error))
}

/// Checks dtype, device and number of dimensions of an argument. `keep` is [`KEEP`] if the function
/// changes it.
///
/// # Errors
///
/// `TypeError` for another dtype, `ValueError` for memory that the processor cannot read
/// and for another number of dimensions.
#[inline]
pub(super) fn check<T: ImportedElement>(
    passed: Passed<'_, '_>,
    tensor: &ImportedTensor,
    rank: usize,
    keep: &str,
) -> PyResult<()> {
    let (object, device) = (passed.object, tensor.device());
    if !device.is_host() {
        return Err(not_on_host(object, device, keep));
    }
    match T::check(tensor) {
        // Elements are accessed byte by byte, at any alignment.
        Ok(()) | Err(Error::Misaligned { .. }) => {}
        Err(error) => return Err(rejected(object, tensor, error, keep)),
    }
    check_rank::<T>(passed, tensor, rank)
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
            return Err(of_dtypes(object.into(), tensor, &[asked], None, KEEP_CONVERTED));
        }
        _ => check::<T>(object.into(), tensor, rank, KEEP)?,
    }
    check_writable(object, tensor)?;
    check_no_grad(object, tensor)
}

/// Checks dtype, alignment and number of dimensions of an argument in memory of a device.
///
/// # Errors
///
/// `TypeError` for another dtype, `ValueError` otherwise.
pub(super) fn check_on_device<B: Backend, T: ImportedElement>(
    object: &Bound<'_, PyAny>,
    tensor: &ImportedTensor,
    rank: usize,
) -> PyResult<()> {
    if let Some(requested) = T::DTYPE {
        let found = tensor.dtype();
        if requested != found {
            return Err(rejected(object, tensor, Error::ElementMismatch { requested, found }, ""));
        }
        let outer = outer_shape::<T>(tensor).len();
        let (shape, strides) = (tensor.shape(), tensor.strides());
        let contiguous = strides::is_row_major_from(outer, shape, strides);
        if shape.get(outer..) != Some(T::AXES) || !contiguous {
            return Err(rejected(object, tensor, Error::AxesMismatch { axes: T::AXES }, ""));
        }
        // Kernels load whole elements.
        if has_addresses::<B>(tensor.device()) {
            let first = MemoryRef::of_first_element(tensor).address();
            check_imported(first, requested, tensor.device()).map_err(ImportError::Tensor)?;
        }
    }
    check_rank::<T>(object.into(), tensor, rank)
}

/// Checks the number of dimensions.
#[inline]
fn check_rank<T: ImportedElement>(
    passed: Passed<'_, '_>,
    tensor: &ImportedTensor,
    rank: usize,
) -> PyResult<()> {
    if rank == ANY_RANK || rank == outer_shape::<T>(tensor).len() {
        return Ok(());
    }
    if T::RECORD.is_some() {
        let found = outer_shape::<T>(tensor).len();
        return Err(PyValueError::new_err(format!(
            "expected records with {rank} dimensions, got {found}; reshape the array"
        )));
    }
    let of_element = tensor.ndim().saturating_sub(outer_shape::<T>(tensor).len());
    Err(of_rank(passed, tensor, rank.saturating_add(of_element)))
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
