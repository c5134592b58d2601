//! Reading what is copied, on the terms on which it is lent: [`Source`].

use crate::described::Described;
use crate::storage::{Access, Block, Cells, Terms};

/// The memory that is copied from.
#[derive(Clone, Copy)]
pub(super) struct Source {
    first: *mut u8,
    terms: Terms,
}

// SAFETY: all threads may read lent memory: it is `&[T]` of plain old data, or the
// one `&mut [T]` to it is lent to whoever waits for them, or it is read by atomics,
// or its producer says so (4 of `Imported::from_raw`).
unsafe impl Sync for Source {}

impl Source {
    pub(super) fn of(from: &Described<'_>) -> Self {
        Self { first: from.data().0, terms: from.memory().terms() }
    }

    /// The same elements in a copy of the bytes that they span.
    pub(super) fn in_span(from: &Described<'_>, span: &Block) -> Self {
        let before = from.byte_offset().saturating_sub(from.span().0);
        // The first element lies in the span, so its offset fits.
        let before = usize::try_from(before).unwrap_or(0);
        Self {
            first: span.as_ptr().wrapping_add(before),
            terms: Terms { access: Access::Frozen, unit: 1 },
        }
    }

    /// Reads `to.len()` bytes that begin `position` bytes from the first element.
    ///
    /// # Safety
    ///
    /// 1. Those bytes are whole elements of the tensor that this was made from,
    ///    which is still lent.
    pub(super) unsafe fn read(&self, position: isize, to: &mut [u8]) {
        // SAFETY: by 1 the position lies inside the memory of the tensor.
        let from = unsafe { self.first.offset(position) };
        match self.terms.access {
            Access::Frozen | Access::Exclusive | Access::ForeignReadOnly => {
                // SAFETY: by 1 there are as many bytes, which nobody writes
                // while they are lent, or, if they are foreign, now (5 of
                // `Imported::from_raw`), and `to` is memory of our own.
                unsafe { from.copy_to_nonoverlapping(to.as_mut_ptr(), to.len()) };
            }
            Access::Shared | Access::SharedReadOnly => {
                // SAFETY: 1. The elements are lent, and a description keeps
                // them inside of memory that is made of such atomics. 2. is
                // what a shared loan promises.
                unsafe { Cells::read(from, self.terms.unit, to) }
            }
        }
    }

    /// Reads runs of `run` bytes, one for each `run` bytes of `to`, the first of
    /// which is `position` bytes from the first element, and the next `step`
    /// bytes from there.
    ///
    /// # Safety
    ///
    /// 1. As for [`read`](Self::read), for each of them.
    #[inline(always)]
    pub(super) unsafe fn read_runs(&self, position: isize, step: isize, run: usize, to: &mut [u8]) {
        let cells =
            self.terms.access == Access::Shared || self.terms.access == Access::SharedReadOnly;
        match (run, cells) {
            // SAFETY: 1. is 1. of this function. 2. These terms say so.
            (1, false) => unsafe { self.plain::<1>(position, step, to) },
            // SAFETY: as above.
            (2, false) => unsafe { self.plain::<2>(position, step, to) },
            // SAFETY: as above.
            (4, false) => unsafe { self.plain::<4>(position, step, to) },
            // SAFETY: as above.
            (8, false) => unsafe { self.plain::<8>(position, step, to) },
            // SAFETY: as above.
            (16, false) => unsafe { self.plain::<16>(position, step, to) },
            // SAFETY: 1. is 1. of this function.
            _ => unsafe { self.each(position, step, run, to) },
        }
    }

    /// [`read_runs`](Self::read_runs) of runs that a register holds.
    ///
    /// # Safety
    ///
    /// 1. As for `read_runs`, with `RUN` as `run`.
    /// 2. The memory is read by ordinary loads.
    #[inline]
    unsafe fn plain<const RUN: usize>(&self, position: isize, step: isize, to: &mut [u8]) {
        let mut place = position;
        for part in to.chunks_exact_mut(RUN) {
            // SAFETY: by 1 there is a run.
            let from = unsafe { self.first.offset(place) };
            // SAFETY: as above; an array of bytes needs no alignment, and by 2
            // nobody writes it now.
            let run = unsafe { from.cast::<[u8; RUN]>().read() };
            part.copy_from_slice(&run);
            // The last one may lead out of the memory, and is not used.
            place = place.wrapping_add(step);
        }
    }

    /// [`read_runs`](Self::read_runs) of any runs.
    ///
    /// # Safety
    ///
    /// 1. As for `read_runs`.
    #[inline]
    unsafe fn each(&self, position: isize, step: isize, run: usize, to: &mut [u8]) {
        let mut place = position;
        for part in to.chunks_exact_mut(run) {
            // SAFETY: 1. is 1. of this function.
            unsafe { self.read(place, part) };
            place = place.wrapping_add(step);
        }
    }
}
