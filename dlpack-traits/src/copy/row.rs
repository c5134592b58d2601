//! Runs of bytes at equal distances: [`Row`].

use core::ops::Range;

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
