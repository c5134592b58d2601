//! The layout of a copy, as runs of contiguous bytes along axes: [`Axes`], and [`Row`], some runs
//! at equal distances. Plain arithmetic.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use crate::strides::MAX_NDIM;

/// The maximum number of axes that are stored without an allocation. Room for all 64 is 1.5
/// KiB, which is zeroed and moved: 0.1 µs for each tensor.
const INLINE: usize = 8;

/// An axis along which runs of bytes are copied. The runs are strided in the memory of the
/// tensor, and contiguous in the buffer that they are copied to or from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Axis {
    /// Number of runs, or of rows of them: at least two.
    pub(super) dim: usize,
    /// Bytes from one to the next in the tensor.
    pub(super) from: isize,
    /// Bytes from one to the next in the buffer.
    pub(super) to: usize,
}

/// A tensor as runs of contiguous bytes, and the axes along which the runs are found. Axes
/// that continue each other are merged.
#[derive(Clone, Debug)]
pub(crate) struct Axes {
    inline: [Axis; INLINE],
    /// Places for all axes, if there are more.
    many: Vec<Axis>,
    /// Number of axes; they are the last ones of the places.
    len: usize,
    /// Bytes per run.
    pub(super) run: usize,
}

impl Axes {
    fn none(run: usize) -> Self {
        Self { inline: [Axis::default(); INLINE], many: Vec::new(), len: 0, run }
    }

    /// The axes of a tensor in row-major order. It is not empty, its strides count `step`
    /// bytes, and its elements have `size` bytes.
    pub(crate) fn new(shape: &[i64], strides: &[i64], step: usize, size: usize) -> Self {
        let mut axes = Self::none(size);
        for (&dim, &stride) in shape.iter().zip(strides).rev() {
            if dim != 1 {
                axes.add(dim, bytes(stride, step));
            }
        }
        axes
    }

    /// The axes of the same tensor in the order of its memory, and the number of bytes from
    /// its first element to the first one in this order.
    ///
    /// The axes are sorted by the size of their strides, and negative strides are reversed.
    /// Broadcast axes (stride 0) are the outermost, so that the runs are long.
    pub(crate) fn in_memory_order(
        shape: &[i64],
        strides: &[i64],
        step: usize,
        size: usize,
    ) -> (Self, isize) {
        let mut sorted = Self::none(size);
        let mut first = 0_isize;
        let mut taken = 0_u64;
        loop {
            // Selection instead of a sort: it needs no memory, and ranks are small.
            let next = shape
                .iter()
                .zip(strides)
                .enumerate()
                .rev()
                .filter(|&(index, (&dim, _))| dim != 1 && taken & bit(index) == 0)
                .min_by_key(|&(_, (_, stride))| stride.unsigned_abs().wrapping_sub(1));
            let Some((index, (&dim, &stride))) = next else { return (sorted, first) };
            taken |= bit(index);
            let from = bytes(stride, step);
            if from < 0 {
                // The offset of the last index lies inside of the extent, so it fits.
                let last = isize::try_from(dim).unwrap_or(1).saturating_sub(1);
                first = first.wrapping_add(from.wrapping_mul(last));
            }
            sorted.add(dim, from.saturating_abs());
        }
    }

    /// Adds an axis outside of the others, or to them.
    fn add(&mut self, dim: i64, from: isize) {
        // What lies in memory has fewer elements than there are addresses.
        let dim = usize::try_from(dim).unwrap_or(1);
        if let Some(outer) = self.outermost() {
            let continues = outer.from.checked_mul(signed(outer.dim)) == Some(from);
            let to = outer.to.saturating_mul(outer.dim);
            if continues {
                outer.dim = outer.dim.saturating_mul(dim);
            } else {
                self.push(Axis { dim, from, to });
            }
        } else if from == signed(self.run) {
            self.run = self.run.saturating_mul(dim);
        } else {
            self.push(Axis { dim, from, to: self.run });
        }
    }

    fn outermost(&mut self) -> Option<&mut Axis> {
        let places = if self.many.is_empty() { &mut self.inline[..] } else { &mut self.many };
        let at = places.len().checked_sub(self.len)?;
        places.get_mut(at)
    }

    fn push(&mut self, axis: Axis) {
        if self.len == INLINE && self.many.is_empty() {
            self.many = vec![Axis::default(); MAX_NDIM];
            let last = self.many.iter_mut().rev().zip(self.inline.iter().rev());
            last.for_each(|(to, axis)| *to = *axis);
        }
        self.len = self.len.saturating_add(1);
        if let Some(place) = self.outermost() {
            *place = axis;
        }
    }

    /// Number of bytes that are contiguous at each place along the axes.
    #[inline]
    pub(crate) fn run_len(&self) -> usize {
        self.run
    }

    /// From the outermost to the innermost.
    #[inline]
    pub(super) fn as_slice(&self) -> &[Axis] {
        let places = if self.many.is_empty() { &self.inline[..] } else { &self.many };
        places.get(places.len().saturating_sub(self.len)..).unwrap_or_default()
    }
}

/// The bit of an axis. There are at most `MAX_NDIM` of 64 axes.
fn bit(axis: usize) -> u64 {
    1_u64.wrapping_shl(u32::try_from(axis).unwrap_or(0))
}

/// A number of elements of a size, in bytes. It fits for elements in memory.
#[expect(clippy::cast_possible_truncation, reason = "addresses differ by at most `isize::MAX`")]
#[expect(clippy::cast_possible_wrap, reason = "an element has less than 2^24 bits")]
const fn bytes(elements: i64, size: usize) -> isize {
    (elements as isize).saturating_mul(size as isize)
}

/// A number of bytes or runs in memory, which fits.
pub(super) fn signed(number: usize) -> isize {
    isize::try_from(number).unwrap_or(isize::MAX)
}

/// Some runs at equal distances in the tensor, which are contiguous in the buffer.
#[derive(Clone, Copy)]
pub(super) struct Row {
    /// Bytes from the first element of the tensor to the first run.
    pub(super) position: isize,
    /// Bytes from each run to the next in the tensor.
    pub(super) step: isize,
    /// Bytes from the start of the buffer to the first run.
    pub(super) at: usize,
    /// Number of runs.
    pub(super) count: usize,
}

impl Row {
    /// The bytes of the row in the buffer.
    #[inline(always)]
    fn range(self, run: usize) -> Option<Range<usize>> {
        Some(self.at..self.at.checked_add(self.count.checked_mul(run)?)?)
    }

    /// The part of the buffer for the row; `None` if the buffer is too small.
    #[inline(always)]
    pub(super) fn part(self, run: usize, to: &mut [u8]) -> Option<&mut [u8]> {
        to.get_mut(self.range(run)?)
    }

    /// The part of the buffer that the row is read from; `None` if the buffer is too small.
    #[inline(always)]
    pub(super) fn part_of(self, run: usize, from: &[u8]) -> Option<&[u8]> {
        from.get(self.range(run)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axes(shape: &[i64], strides: &[i64]) -> (usize, alloc::vec::Vec<(usize, isize, usize)>) {
        let axes = Axes::new(shape, strides, 4, 4);
        let list = axes.as_slice().iter().map(|axis| (axis.dim, axis.from, axis.to));
        (axes.run, list.collect())
    }

    #[test]
    fn compact_is_one_run() {
        assert_eq!(axes(&[], &[]), (4, alloc::vec![]));
        assert_eq!(axes(&[2, 3, 4], &[12, 4, 1]), (96, alloc::vec![]));
        assert_eq!(axes(&[2, 1, 4], &[4, 99, 1]), (32, alloc::vec![]));
        assert_eq!(axes(&[1, 1], &[-7, 0]), (4, alloc::vec![]));
    }

    #[test]
    fn what_goes_on_is_one_axis() {
        assert_eq!(axes(&[2, 3, 4], &[24, 8, 2]), (4, alloc::vec![(24, 8, 4)]));
        assert_eq!(axes(&[5, 3, 4], &[24, 4, 1]), (48, alloc::vec![(5, 96, 48)]));
        assert_eq!(axes(&[5, 3, 4], &[-12, -4, -1]), (4, alloc::vec![(60, -4, 4)]));
        assert_eq!(axes(&[2, 3], &[1, 2]), (4, alloc::vec![(2, 4, 12), (3, 8, 4)]));
        assert_eq!(axes(&[5, 4], &[0, 1]), (16, alloc::vec![(5, 0, 16)]));
        assert_eq!(axes(&[5, 4], &[0, 0]), (4, alloc::vec![(20, 0, 4)]));
        let many = [2; MAX_NDIM];
        assert_eq!(axes(&many, &[3; MAX_NDIM]).1.len(), MAX_NDIM);
    }
    #[test]
    fn memory_order_sorts_axes_and_reverses_negative_strides() {
        let axes = |shape: &[i64], strides: &[i64]| {
            let (axes, first) = Axes::in_memory_order(shape, strides, 4, 4);
            let list = axes.as_slice().iter().map(|axis| (axis.dim, axis.from, axis.to));
            (first, axes.run, list.collect::<alloc::vec::Vec<_>>())
        };
        assert_eq!(axes(&[], &[]), (0, 4, alloc::vec![]));
        assert_eq!(axes(&[2, 3], &[1, 2]), (0, 24, alloc::vec![]));
        assert_eq!(axes(&[2, 3], &[-3, -1]), (-20, 24, alloc::vec![]));
        assert_eq!(axes(&[2, 3], &[1, -2]), (-16, 24, alloc::vec![]));
        assert_eq!(axes(&[2, 3], &[2, 8]), (0, 4, alloc::vec![(3, 32, 8), (2, 8, 4)]));
        assert_eq!(axes(&[3, 5], &[1, 0]), (0, 12, alloc::vec![(5, 0, 12)]));
        assert_eq!(axes(&[3, 1], &[1, -9]), (0, 12, alloc::vec![]));
        let (many, ndim) = ([2; MAX_NDIM], usize::BITS as usize - 8);
        let strides: alloc::vec::Vec<i64> = (0..ndim).map(|axis| 1 << axis).collect();
        assert_eq!(axes(&many[..ndim], &strides), (0, 4 << ndim, alloc::vec![]));
    }
}
