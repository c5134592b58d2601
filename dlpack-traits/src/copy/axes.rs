//! Which elements go where in a copy: [`Axes`]. Plain arithmetic.

use crate::strides::MAX_NDIM;

/// An axis along which runs of bytes are copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Axis {
    /// Number of runs, or of rows of them: at least two.
    pub(super) dim: usize,
    /// Bytes from one to the next where they are read.
    pub(super) from: isize,
    /// Bytes from one to the next where they are written.
    pub(super) to: usize,
}

/// A tensor as runs of bytes that lie together, and the axes along which they are
/// found: as few as there can be.
#[derive(Debug)]
pub(super) struct Axes {
    places: [Axis; MAX_NDIM],
    /// How many of them there are, counted from the end.
    len: usize,
    /// Bytes that are copied in one go.
    pub(super) run: usize,
}

impl Axes {
    /// The axes of a tensor whose elements have `size` bytes, to be written one
    /// after the other in row-major order. It has elements.
    pub(super) fn new(shape: &[i64], strides: &[i64], size: usize) -> Self {
        let mut axes = Self { places: [Axis::default(); MAX_NDIM], len: 0, run: size };
        for (&dim, &stride) in shape.iter().zip(strides).rev() {
            if dim != 1 {
                axes.add(dim, bytes(stride, size));
            }
        }
        axes
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
        let at = MAX_NDIM.saturating_sub(self.len);
        self.places.get_mut(at)
    }

    fn push(&mut self, axis: Axis) {
        self.len = self.len.saturating_add(1);
        if let Some(place) = self.outermost() {
            *place = axis;
        }
    }

    /// From the outermost to the innermost.
    pub(super) fn as_slice(&self) -> &[Axis] {
        self.places.get(MAX_NDIM.saturating_sub(self.len)..).unwrap_or_default()
    }
}

/// A number of elements of a size, in bytes. What lies in memory fits.
#[expect(clippy::cast_possible_truncation, reason = "addresses differ by at most `isize::MAX`")]
#[expect(clippy::cast_possible_wrap, reason = "an element has less than 2^24 bits")]
const fn bytes(elements: i64, size: usize) -> isize {
    (elements as isize).saturating_mul(size as isize)
}

/// A number of bytes or runs in memory, which fits.
pub(super) fn signed(number: usize) -> isize {
    isize::try_from(number).unwrap_or(isize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axes(shape: &[i64], strides: &[i64]) -> (usize, alloc::vec::Vec<(usize, isize, usize)>) {
        let axes = Axes::new(shape, strides, 4);
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
}
