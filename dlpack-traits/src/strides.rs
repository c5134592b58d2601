//! Arithmetic on shapes and strides. All of it is checked, and none of it is unsafe.
//!
//! Dimensions and strides count elements, as in DLPack. A size that does not fit in 64
//! signed bits is rejected: no memory is that large.

mod overlap;

#[cfg(any(feature = "ndarray_0_16", feature = "ndarray_0_17"))]
pub(crate) use overlap::are_nested;
pub use overlap::may_overlap;

#[cfg(feature = "pyo3")]
use alloc::borrow::Cow;

use crate::error::Error;

/// The maximum number of dimensions of a tensor in this crate: NumPy's limit.
pub const MAX_NDIM: usize = 64;

/// Number of elements: the product of the dimensions, 1 for an empty shape.
///
/// # Errors
///
/// [`Error::TooManyDims`], [`Error::NegativeDim`] (even if another dimension is zero), and
/// [`Error::SizeOverflow`] unless some dimension is zero.
///
/// ```
/// use dlpack_traits::strides::numel;
/// assert_eq!(numel(&[2, 3]), Ok(6));
/// assert_eq!(numel(&[]), Ok(1));
/// assert_eq!(numel(&[i64::MAX, 0, i64::MAX]), Ok(0));
/// assert!(numel(&[0, -1]).is_err());
/// ```
#[inline]
pub fn numel(shape: &[i64]) -> Result<i64, Error> {
    if shape.len() > MAX_NDIM {
        return Err(Error::TooManyDims { ndim: shape.len() });
    }
    let mut product = Some(1_i64);
    let mut empty = false;
    for (axis, &dim) in shape.iter().enumerate() {
        if dim < 0 {
            return Err(Error::NegativeDim { axis, dim });
        }
        empty |= dim == 0;
        product = product.and_then(|product| product.checked_mul(dim));
    }
    if empty { Ok(0) } else { product.ok_or(Error::SizeOverflow) }
}

/// The lowest and the highest element that a layout reaches, counted from the first
/// element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Lowest element, 0 or negative.
    pub low: i64,
    /// Highest element, 0 or positive.
    pub high: i64,
}

/// Returns the elements that a strided layout reaches; `None` for an empty tensor.
///
/// Strides of dimensions of size 1 are not used, so they may have any value.
///
/// # Errors
///
/// Those of [`numel`], [`Error::RankMismatch`], and [`Error::SizeOverflow`] if the extent
/// does not fit in 64 bits.
///
/// ```
/// use dlpack_traits::strides::{extent, Extent};
/// assert_eq!(extent(&[2, 3], &[3, 1]), Ok(Some(Extent { low: 0, high: 5 })));
/// assert_eq!(extent(&[3], &[-2]), Ok(Some(Extent { low: -4, high: 0 })));
/// assert_eq!(extent(&[0], &[7]), Ok(None));
/// ```
#[inline]
pub fn extent(shape: &[i64], strides: &[i64]) -> Result<Option<Extent>, Error> {
    match numel(shape)? {
        _ if shape.len() != strides.len() => {
            Err(Error::RankMismatch { shape: shape.len(), strides: strides.len() })
        }
        0 => Ok(None),
        _ => extent_of_some(shape, strides).map(Some),
    }
}

/// As [`extent`], for a tensor that is not empty and has one stride per dimension.
#[inline]
pub(crate) fn extent_of_some(shape: &[i64], strides: &[i64]) -> Result<Extent, Error> {
    let mut reached = Extent { low: 0, high: 0 };
    for (&dim, &stride) in shape.iter().zip(strides) {
        let last = dim.saturating_sub(1).checked_mul(stride).ok_or(Error::SizeOverflow)?;
        // `low` only decreases and `high` only increases, so a sum that overflows could not
        // become valid again.
        let end = if last < 0 { &mut reached.low } else { &mut reached.high };
        *end = end.checked_add(last).ok_or(Error::SizeOverflow)?;
    }
    Ok(reached)
}

/// Writes the strides of a contiguous row-major (C order) tensor.
///
/// `strides` must be as long as `shape`; further entries are not changed. The strides of an
/// empty tensor are not used; they are written as if its zero dimensions were 1.
#[inline]
pub fn row_major_strides(shape: &[i64], strides: &mut [i64]) {
    let mut step = 1_i64;
    for (stride, &dim) in strides.iter_mut().zip(shape).rev() {
        *stride = step;
        step = step.saturating_mul(dim.max(1));
    }
}

/// Writes the strides of a contiguous column-major (Fortran order) tensor, as
/// [`row_major_strides`] does for row-major ones.
#[inline]
pub fn column_major_strides(shape: &[i64], strides: &mut [i64]) {
    let mut step = 1_i64;
    for (stride, &dim) in strides.iter_mut().zip(shape) {
        *stride = step;
        step = step.saturating_mul(dim.max(1));
    }
}

/// Whether the elements are contiguous in row-major (C) order.
///
/// Dimensions of size 1 may have any stride, and an empty tensor is contiguous.
///
/// ```
/// use dlpack_traits::strides::is_row_major;
/// assert!(is_row_major(&[3, 1], &[1, 99]));
/// assert!(!is_row_major(&[2, 3], &[1, 2]));
/// ```
pub fn is_row_major(shape: &[i64], strides: &[i64]) -> bool {
    is_row_major_of(1, shape, strides)
}

/// Whether elements that are `width` units of stride wide are contiguous in row-major order.
pub(crate) fn is_row_major_of(width: i64, shape: &[i64], strides: &[i64]) -> bool {
    is_compact(width, shape.iter().zip(strides).rev())
}

/// Whether the axes from `first` on are contiguous in row-major order. Those of an empty tensor are,
/// also if the dimension that is 0 is before them.
pub(crate) fn is_row_major_from(first: usize, shape: &[i64], strides: &[i64]) -> bool {
    is_compact(1, shape.iter().zip(strides).skip(first).rev()) || shape.contains(&0)
}

/// Whether the elements are contiguous in column-major (Fortran) order.
///
/// ```
/// use dlpack_traits::strides::is_column_major;
/// assert!(is_column_major(&[2, 3], &[1, 2]));
/// ```
pub fn is_column_major(shape: &[i64], strides: &[i64]) -> bool {
    is_compact(1, shape.iter().zip(strides))
}

/// Whether elements of this width are contiguous, with the axes given from the fastest to the
/// slowest.
fn is_compact<'a>(width: i64, axes: impl Iterator<Item = (&'a i64, &'a i64)>) -> bool {
    let mut step = Some(width);
    let mut compact = true;
    for (&dim, &stride) in axes {
        if dim == 0 {
            return true;
        }
        if dim != 1 {
            compact &= step == Some(stride);
            step = step.and_then(|step| step.checked_mul(dim));
        }
    }
    compact
}

/// Copies the numbers in reverse order, except for the last ones, `inner` of them, which stay at the
/// end.
pub(crate) fn turned<'a>(numbers: &[i64], inner: usize, to: &'a mut [i64; MAX_NDIM]) -> &'a [i64] {
    let (outer, inner) = numbers.split_at(numbers.len().saturating_sub(inner));
    let to = to.get_mut(..numbers.len()).unwrap_or_default();
    for (to, from) in to.iter_mut().zip(outer.iter().rev().chain(inner)) {
        *to = *from;
    }
    to
}

/// The offset of the element with this number, counted in row-major order, in units of stride. Nothing
/// overflows for an element of a tensor in memory.
pub(crate) fn offset_of(number: i64, shape: &[i64], strides: &[i64]) -> i64 {
    let (mut left, mut offset) = (number, 0_i64);
    for (&dim, &stride) in shape.iter().zip(strides).rev() {
        let outer = left.checked_div(dim).unwrap_or(0);
        let index = left.wrapping_sub(outer.wrapping_mul(dim));
        offset = offset.wrapping_add(index.wrapping_mul(stride));
        left = outer;
    }
    offset
}

/// The shape to which two shapes are broadcast; `None` if they differ in a dimension, and neither is 1.
#[cfg(feature = "pyo3")]
pub(crate) fn broadcast<'a>(first: &[i64], second: &'a [i64]) -> Option<Cow<'a, [i64]>> {
    if first.is_empty() || first == second {
        return Some(Cow::Borrowed(second));
    }
    let (longer, shorter) =
        if first.len() < second.len() { (second, first) } else { (first, second) };
    let mut shape = longer.to_vec();
    for (to, &dim) in shape.iter_mut().rev().zip(shorter.iter().rev()) {
        match (*to, dim) {
            (same, dim) if same == dim => {}
            (1, dim) => *to = dim,
            (_, 1) => {}
            _ => return None,
        }
    }
    Some(Cow::Owned(shape))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numel_refuses_before_multiplying() {
        assert_eq!(numel(&[-1, -1]), Err(Error::NegativeDim { axis: 0, dim: -1 }));
        assert_eq!(numel(&[0, -1]), Err(Error::NegativeDim { axis: 1, dim: -1 }));
        assert_eq!(numel(&[1 << 32, 1 << 32]), Err(Error::SizeOverflow));
        assert_eq!(numel(&[1 << 32, 1 << 32, 0]), Ok(0));
        assert_eq!(numel(&[1; 65]), Err(Error::TooManyDims { ndim: 65 }));
        // The message contains the limit as text, because `Error` does not use this module.
        let message = alloc::string::ToString::to_string(&Error::TooManyDims { ndim: 65 });
        assert!(message.contains(&alloc::format!("the {MAX_NDIM} that")));
        assert_eq!(numel(&[1; 64]), Ok(1));
    }

    #[test]
    fn extent_does_not_wrap() {
        assert_eq!(extent(&[i64::MAX, 2], &[i64::MAX, 1]), Err(Error::SizeOverflow));
        assert_eq!(extent(&[3], &[i64::MIN]), Err(Error::SizeOverflow));
        assert_eq!(extent(&[3, 3], &[i64::MIN, i64::MAX]), Err(Error::SizeOverflow));
        assert_eq!(extent(&[2, 1], &[1, i64::MIN]), Ok(Some(Extent { low: 0, high: 1 })));
        assert_eq!(extent(&[2], &[]), Err(Error::RankMismatch { shape: 1, strides: 0 }));
        assert_eq!(extent(&[], &[]), Ok(Some(Extent { low: 0, high: 0 })));
    }

    #[test]
    fn strides_of_compact_tensors() {
        let mut strides = [0; 3];
        row_major_strides(&[2, 3, 4], &mut strides);
        assert_eq!(strides, [12, 4, 1]);
        row_major_strides(&[0, 3, 4], &mut strides);
        assert_eq!(strides, [12, 4, 1]);
        row_major_strides(&[i64::MAX, i64::MAX, 0], &mut strides);
        assert_eq!(strides, [i64::MAX, 1, 1]);
    }

    #[test]
    fn size_one_axes_do_not_count() {
        assert!(is_row_major(&[1, 3, 1], &[-7, 1, 0]));
        assert!(is_column_major(&[1, 3, 1], &[-7, 1, 0]));
        assert!(is_row_major(&[2, 0], &[-7, 5]));
        assert!(!is_row_major(&[2], &[-1]));
        assert!(is_row_major(&[], &[]));
        assert!(is_row_major_from(1, &[2, 3], &[7, 1]) && !is_row_major_from(1, &[2, 3], &[7, 2]));
        assert!(is_row_major_from(1, &[0, 3], &[0, 0]) && is_row_major_from(2, &[2, 3], &[0, 0]));
    }
}
