//! Arithmetic on shapes and strides. All of it is checked, and none of it is unsafe.
//!
//! Dimensions and strides count elements, as in DLPack. A size that does not fit in 64
//! signed bits is rejected: no memory is that large.

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
    is_compact(shape.iter().zip(strides).rev())
}

/// Whether the elements are contiguous in column-major (Fortran) order.
///
/// ```
/// use dlpack_traits::strides::is_column_major;
/// assert!(is_column_major(&[2, 3], &[1, 2]));
/// ```
pub fn is_column_major(shape: &[i64], strides: &[i64]) -> bool {
    is_compact(shape.iter().zip(strides))
}

/// Whether the elements are contiguous, with the axes given from the fastest to the
/// slowest.
fn is_compact<'a>(axes: impl Iterator<Item = (&'a i64, &'a i64)>) -> bool {
    let mut step = Some(1_i64);
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

/// Whether two different indices may name the same element.
///
/// `false` is exact; `true` may be wrong for unusual layouts. The test sorts the axes by
/// the size of their strides; if each stride is larger than the total span of the axes with
/// smaller strides, no two indices name the same element.
///
/// ```
/// use dlpack_traits::strides::may_overlap;
/// assert!(!may_overlap(&[2, 3], &[3, 1]));
/// assert!(!may_overlap(&[3], &[-1]));
/// assert!(may_overlap(&[4], &[0]));
/// assert!(may_overlap(&[3, 3], &[1, 1]));
/// ```
#[inline]
pub fn may_overlap(shape: &[i64], strides: &[i64]) -> bool {
    !is_sorted_apart(shape, strides) && may_overlap_in_any_order(shape, strides)
}

/// The same test for axes that are already sorted, with the smallest stride last, as in
/// nearly every layout that is not contiguous. It needs no search for the next axis: measured for
/// ranks 1 to 4, it takes 3 to 6 ns, and the search 7 to 37.
#[inline]
fn is_sorted_apart(shape: &[i64], strides: &[i64]) -> bool {
    let mut below = 0_u64; // total span of the axes after this one, in elements
    for (&dim, &stride) in shape.iter().zip(strides).rev() {
        if dim > 1 {
            let step = stride.unsigned_abs();
            if step <= below {
                return false;
            }
            let span = dim.unsigned_abs().saturating_sub(1).saturating_mul(step);
            // No stride exceeds a saturated span, so saturation rejects.
            below = below.saturating_add(span);
        }
    }
    true
}

/// [`may_overlap`] for axes in any order.
fn may_overlap_in_any_order(shape: &[i64], strides: &[i64]) -> bool {
    if shape.contains(&0) {
        return false;
    }
    // Selection instead of a sort: it needs no scratch memory, and ranks are small. Two
    // axes of size 2 or more with the same stride overlap: the second one fails the
    // comparison below.
    let mut below: u128 = 0; // total span of the axes taken so far, in elements
    let mut taken: u128 = 0; // bit set of axes
    for _ in 0..shape.len().min(MAX_NDIM) {
        let next = shape
            .iter()
            .zip(strides)
            .enumerate()
            .filter(|&(axis, (&dim, _))| dim > 1 && taken & (1_u128 << axis) == 0)
            .min_by_key(|&(_, (_, stride))| stride.unsigned_abs());
        let Some((axis, (&dim, &stride))) = next else { return false };
        let step = u128::from(stride.unsigned_abs());
        if step <= below {
            return true;
        }
        taken |= 1_u128 << axis;
        let span = u128::from(dim.unsigned_abs()).saturating_sub(1).saturating_mul(step);
        below = below.saturating_add(span);
    }
    shape.len() > MAX_NDIM
}

/// Iterates over the indices of some axes in row-major order.
#[derive(Clone, Debug)]
pub(crate) struct Walk<'a> {
    shape: &'a [i64],
    strides: &'a [i64],
    index: [i64; MAX_NDIM],
    position: i64,
}

impl<'a> Walk<'a> {
    /// Starts at the first index. Entries of `strides` beyond `shape` are not used.
    pub(crate) fn new(shape: &'a [i64], strides: &'a [i64]) -> Self {
        Self { shape, strides, index: [0; MAX_NDIM], position: 0 }
    }

    /// Offset of the current element from the first one, in elements.
    #[inline]
    pub(crate) fn position(&self) -> i64 {
        self.position
    }

    /// Advances to the next index, and from the last one to the first.
    #[inline]
    pub(crate) fn advance(&mut self) {
        let axes = self.index.iter_mut().zip(self.shape).zip(self.strides);
        for ((index, &dim), &stride) in axes.take(self.shape.len()).rev() {
            // The strides of a description stay within its storage, so neither of these
            // overflows 64 bits for a dimension that has a next index.
            *index = index.wrapping_add(1);
            self.position = self.position.wrapping_add(stride);
            if *index < dim {
                return;
            }
            self.position = self.position.wrapping_sub(stride.wrapping_mul(dim));
            *index = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_one_overlap_nobody() {
        assert!(!may_overlap(&[2, 1, 3], &[-3, 2, -1]));
        assert!(!may_overlap(&[2, 3, 1], &[1, 2, 0]));
        // 64 axes, the maximum, and one more.
        let strides: alloc::vec::Vec<i64> = (0..64).map(|axis| 1_i64 << axis).collect();
        assert!(!may_overlap(&[2; 64], &strides));
        assert!(may_overlap(&[2; 65], &[&[0x5555][..], &strides[..]].concat()));
    }

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
    }

    /// Axes that are already sorted need no search.
    #[test]
    fn axes_in_order_are_not_sorted() {
        assert!(is_sorted_apart(&[2, 3], &[3, 1]));
        assert!(is_sorted_apart(&[2, 3], &[-9, 2]));
        assert!(is_sorted_apart(&[4, 1, 3], &[3, 0, 1]));
        assert!(is_sorted_apart(&[0, 3], &[3, 1]));
        assert!(is_sorted_apart(&[], &[]));
        // An axis of size 1 or 0 spans nothing, whatever its stride.
        assert!(is_sorted_apart(&[2, 0], &[1, 5]));
        assert!(is_sorted_apart(&[2, 1], &[1, 5]));
        assert!(!is_sorted_apart(&[2, 3], &[1, 2]));
        assert!(!is_sorted_apart(&[2, 3], &[2, 1]));
        assert!(!is_sorted_apart(&[2], &[0]));
        assert!(!is_sorted_apart(&[2, 3], &[i64::MIN, i64::MAX]));
    }

    #[test]
    fn overlap_is_found_and_not_invented() {
        assert!(!may_overlap(&[2, 3], &[1, 2]));
        assert!(!may_overlap(&[2, 3], &[-4, 1]));
        assert!(!may_overlap(&[1, 3], &[0, 1]));
        assert!(!may_overlap(&[0, 3], &[0, 0]));
        assert!(may_overlap(&[2, 2], &[0, 1]));
        assert!(may_overlap(&[2, 2], &[1, -1]));
        assert!(may_overlap(&[3, 3], &[2, 1]));
    }
}
