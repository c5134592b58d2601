//! A single pass over shape and strides, which reads, writes and bounds them: [`Room`],
//! [`contiguous`].

use core::mem::MaybeUninit;

use super::layout::Order;
use super::slot::Room;
use crate::dims::Ints;

/// Passes each dimension, and the stride that it has in a contiguous tensor, to `write`, from
/// the fastest axis to the slowest, and returns the number of elements. `numel` is that of the axes
/// before, at least 1.
///
/// `None` at a dimension that is `None` or less than 1, or if the number of elements does not
/// fit in 64 bits: the caller then uses the exact arithmetic of [`strides`](crate::strides).
#[inline(always)]
pub(crate) fn contiguous<T>(
    mut numel: i64,
    axes: impl Iterator<Item = (Option<i64>, T)>,
    mut write: impl FnMut(T, i64, i64),
) -> Option<i64> {
    for (dim, place) in axes {
        let dim = dim.filter(|&dim| dim > 0)?;
        write(place, dim, numel);
        numel = numel.checked_mul(dim)?;
    }
    Some(numel)
}

impl Room<'_> {
    /// Writes the axes of elements that are arrays, after `outer` other axes, and returns the number
    /// of parts of an element.
    #[inline(always)]
    pub(super) fn write_axes(&mut self, outer: usize, axes: &[i64]) -> Option<i64> {
        let places = self.shape.get_mut(outer..)?.iter_mut().zip(self.strides.get_mut(outer..)?);
        let axes = axes.iter().map(|&dim| Some(dim)).zip(places).rev();
        contiguous(1, axes, |(dim_to, stride_to), dim, stride| {
            dim_to.write(dim);
            stride_to.write(stride);
        })
    }

    /// Writes a shape, and the strides of contiguous elements of `parts` parts, with `pitch` as the
    /// stride of the slowest axis.
    #[inline(always)]
    pub(super) fn write_contiguous(
        &mut self,
        shape: Ints<'_>,
        order: Order,
        pitch: Option<i64>,
        parts: i64,
    ) -> Option<Reach> {
        let places = self.shape.iter_mut().zip(self.strides.iter_mut());
        let mut axes = (0..shape.len()).zip(places).map(|(axis, places)| (shape.get(axis), places));
        let slowest = match (pitch, order) {
            (None, _) => None,
            (Some(_), Order::RowMajor) => axes.next(),
            (Some(_), Order::ColumnMajor) => axes.next_back(),
        };
        let write = |(dim_to, stride_to): Places<'_>, dim, stride| {
            dim_to.write(dim);
            stride_to.write(stride);
        };
        let row = match order {
            Order::RowMajor => contiguous(parts, axes.rev(), write)?,
            Order::ColumnMajor => contiguous(parts, axes, write)?,
        };
        let numel = match (slowest, pitch) {
            (Some((dim, places)), Some(pitch)) => {
                let dim = dim.filter(|&dim| dim > 0)?;
                if pitch < row {
                    return None;
                }
                write(places, dim, pitch);
                dim.wrapping_sub(1).checked_mul(pitch)?.checked_add(row)?
            }
            (None, None) => row,
            // Without axes there is none that the pitch applies to.
            _ => return None,
        };
        Some(Reach { low: 0, span: numel.wrapping_sub(1), repeats: 1 })
    }

    /// Writes a shape and explicit strides, which `step` converts to parts of elements, of which an
    /// element has `parts`.
    #[inline(always)]
    pub(super) fn write_strided(
        &mut self,
        shape: Ints<'_>,
        strides: Ints<'_>,
        step: impl Fn(Option<i64>) -> Option<i64>,
        parts: i64,
    ) -> Option<Reach> {
        if strides.len() != shape.len() {
            return None;
        }
        let mut axis = shape.len();
        let mut reach = Reach { low: 0, span: parts.wrapping_sub(1), repeats: 1 };
        while axis != 0 {
            axis = axis.wrapping_sub(1);
            // Before the writes (measured: 2 to 4 instructions less than after them).
            let dim = shape.get(axis).filter(|&dim| dim > 0)?;
            let stride = step(strides.get(axis))?;
            self.shape.get_mut(axis)?.write(dim);
            self.strides.get_mut(axis)?.write(stride);
            reach.add(dim, stride)?;
        }
        Some(reach)
    }
}

/// The places of a dimension and a stride.
type Places<'s> = (&'s mut MaybeUninit<i64>, &'s mut MaybeUninit<i64>);

/// The elements that some axes reach, counted from the first element.
///
/// Invariant: `low` is not positive, `span` is not negative, and `repeats` is positive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reach {
    /// The lowest element.
    low: i64,
    /// Number of elements from the lowest to the highest, less 1.
    span: i64,
    /// The product of the dimensions whose strides, without their signs, are not larger than the
    /// span of the axes before them. If it is 1, no two indices name the same element. Otherwise two
    /// indices may.
    pub(super) repeats: i64,
}

impl Reach {
    /// Adds the next axis, of at least one element. `None` if the span or `repeats` does not fit in
    /// 64 bits.
    ///
    /// One comparison decides that the stride of nearly every axis is positive, moves only the
    /// highest element, and names no element twice (measured: 15 instructions per axis; 27 with a
    /// comparison for each).
    #[inline(always)]
    fn add(&mut self, dim: i64, stride: i64) -> Option<()> {
        let last = dim.wrapping_sub(1).checked_mul(stride)?;
        if stride <= self.span {
            if stride < 0 {
                return self.add_negative(dim, stride, last);
            }
            self.repeats = self.repeats.checked_mul(dim)?;
        }
        self.span = self.span.checked_add(last)?;
        Some(())
    }

    /// As [`add`](Self::add), for a negative stride, whose last step is `last`.
    #[inline(always)]
    fn add_negative(&mut self, dim: i64, stride: i64, last: i64) -> Option<()> {
        if stride.unsigned_abs() <= self.span.unsigned_abs() {
            self.repeats = self.repeats.checked_mul(dim)?;
        }
        self.low = self.low.checked_add(last)?;
        self.span = self.span.checked_sub(last)?;
        Some(())
    }

    /// Number of elements before the first one.
    #[inline(always)]
    #[expect(clippy::cast_sign_loss, reason = "`low` is not positive")]
    pub(super) const fn below(&self) -> u64 {
        0_i64.wrapping_sub(self.low) as u64
    }

    /// Number of elements from the first one to the highest, both included.
    #[inline(always)]
    #[expect(clippy::cast_sign_loss, reason = "the highest element is not below the first one")]
    pub(super) const fn above(&self) -> u64 {
        (self.low.wrapping_add(self.span) as u64).wrapping_add(1)
    }

    /// Whether the elements, all together, are known to have at most `isize::MAX` bytes, if each has
    /// `size`. The axes that are not in `repeats` name each element once, so the product of their
    /// dimensions is at most the number of elements in the range.
    #[inline(always)]
    pub(super) fn bytes_fit(&self, size: u64) -> bool {
        let most = self.span.checked_add(1).and_then(|most| most.checked_mul(self.repeats));
        // `size` is less than this power of two. A shift is faster than another multiplication, and a
        // constant for most types.
        let power = u64::BITS.wrapping_sub(size.leading_zeros());
        let limit = (isize::MAX as i64).checked_shr(power).unwrap_or(0);
        most.is_some_and(|most| most <= limit)
    }
}
