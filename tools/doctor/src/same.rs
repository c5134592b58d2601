//! Whether what a consumer made is the tensor that it was given: [`compare`].

use dlpack_traits::MAX_NDIM;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::ask::{self, NEWEST, PLAIN};
use crate::report::{Fit, TensorFacts};
use crate::{dims, memory, read};

/// The maximum number of bytes, and of elements, that are compared.
const MOST: u64 = 1 << 24;

/// The result of [`compare`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Comparison {
    /// Same, copy, converted, or wrong.
    pub fit: Fit,
    /// The reason, in words.
    pub why: String,
}

/// Compares the exports of two objects: shape, element type, address, and the
/// elements bit by bit, where the processor can read them and they are whole bytes.
///
/// # Errors
///
/// The exceptions that their `__dlpack__` raise.
pub fn compare(given: &Bound<'_, PyAny>, made: &Bound<'_, PyAny>) -> PyResult<Comparison> {
    let (given_capsule, made_capsule) = (export(given)?, export(made)?);
    let (Some(given), Some(made)) = (facts(&given_capsule), facts(&made_capsule)) else {
        return Ok(said(Fit::Wrong, "there is no tensor to be read"));
    };
    Ok(judge(&given, &made))
}

fn export<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    match ask::call(object, NEWEST)? {
        Ok(capsule) => Ok(capsule),
        Err(_) => ask::call(object, PLAIN)?,
    }
}

fn facts(capsule: &Bound<'_, PyAny>) -> Option<TensorFacts> {
    read::capsule(&capsule.extract::<Bound<'_, PyCapsule>>().ok()?).tensor
}

fn said(fit: Fit, why: impl Into<String>) -> Comparison {
    Comparison { fit, why: why.into() }
}

fn judge(given: &TensorFacts, made: &TensorFacts) -> Comparison {
    if given.shape != made.shape {
        return said(Fit::Wrong, "another shape");
    }
    if given.dtype != made.dtype {
        return said(Fit::Converted, format!("to {}", made.dtype_name));
    }
    let first = |tensor: &TensorFacts| tensor.data.wrapping_add(tensor.byte_offset);
    if given.layout.as_ref().is_some_and(|layout| layout.numel == 0) {
        return said(Fit::Same, "no elements");
    }
    let strides = || dims::strides(given) == dims::strides(made);
    if first(given) == first(made) && strides() {
        return said(Fit::Same, "");
    }
    match (elements(given), elements(made)) {
        (Some(given), Some(made)) if given != made => said(Fit::Wrong, "other elements"),
        (Some(_), Some(_)) if first(given) == first(made) => said(Fit::Same, ""),
        (Some(_), Some(_)) => said(Fit::Copy, ""),
        _ => said(Fit::Copy, "the elements were not compared"),
    }
}

/// All elements in row-major order.
fn elements(tensor: &TensorFacts) -> Option<Vec<u8>> {
    let layout = tensor.layout.as_ref()?;
    let size = read::dtype_of(tensor).byte_size()?;
    let (start, end) = layout.bytes;
    let numel = u64::try_from(layout.numel).ok().filter(|&numel| numel < MOST)?;
    // With strides of 0, the gathered elements can take more memory than the tensor.
    numel.checked_mul(size as u64).filter(|&gathered| gathered < MOST)?;
    let length = Some(end.abs_diff(start)).filter(|&length| length < MOST)?;
    if !read::device_of(tensor).is_host() {
        return None;
    }
    let first = tensor.data.checked_add(tensor.byte_offset)?.checked_add_signed(start)?;
    let memory = memory::read(first, usize::try_from(length).ok()?)?;
    let (shape, strides) = (tensor.shape.values()?, dims::strides(tensor)?);
    let mut gathered = Vec::new();
    let mut index = [0_i64; MAX_NDIM];
    for _ in 0..numel {
        let steps = index.iter().zip(&strides).map(|(&at, &stride)| at.wrapping_mul(stride));
        let element = steps.fold(0_i64, i64::wrapping_add).wrapping_mul(i64::try_from(size).ok()?);
        let at = usize::try_from(element.checked_sub(start)?).ok()?;
        gathered.extend_from_slice(memory.get(at..at.checked_add(size)?)?);
        for (at, &dim) in index.iter_mut().zip(shape).take(shape.len()).rev() {
            *at = at.wrapping_add(1);
            if *at < dim {
                break;
            }
            *at = 0;
        }
    }
    Some(gathered)
}
