//! Reading what is copied, with the access with which it is lent: [`Source`].

use crate::storage::{Access, Block};
use crate::view::TensorView;

/// The memory that is copied from.
#[derive(Clone, Copy)]
pub(super) struct Source {
    first: *mut u8,
    access: Access,
}

// SAFETY: all threads may read lent memory: it is `&[T]` of plain old data, or the
// one `&mut [T]` to it is lent to the caller, which waits for them, or it is read
// byte-wise atomically, or its producer says so (4 of `Imported::from_raw`).
unsafe impl Sync for Source {}

impl Source {
    pub(super) fn of(from: &TensorView<'_>) -> Self {
        Self { first: from.as_ptr().cast_mut(), access: from.facts().access() }
    }

    /// The same elements in a copy of the bytes that they span.
    pub(super) fn in_span(from: &TensorView<'_>, span: &Block) -> Self {
        let before = from.byte_offset().saturating_sub(from.facts().span().0);
        // The first element lies in the span, so its offset fits.
        let before = usize::try_from(before).unwrap_or(0);
        Self { first: span.as_ptr().wrapping_add(before), access: Access::Frozen }
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
        // SAFETY: 1. By 1 there are as many bytes, which are still lent with this access. 2. `to`
        // is memory of our own.
        unsafe { self.access.copy(from, to.as_mut_ptr(), to.len()) };
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
        match run {
            // SAFETY: 1. is 1. of this function.
            1 => unsafe { self.in_registers::<1>(position, step, to) },
            // SAFETY: as above.
            2 => unsafe { self.in_registers::<2>(position, step, to) },
            // SAFETY: as above.
            4 => unsafe { self.in_registers::<4>(position, step, to) },
            // SAFETY: as above.
            8 => unsafe { self.in_registers::<8>(position, step, to) },
            // SAFETY: as above.
            16 => unsafe { self.in_registers::<16>(position, step, to) },
            // SAFETY: as above.
            _ => unsafe { self.each(position, step, run, to) },
        }
    }

    /// [`read_runs`](Self::read_runs) of runs that a register holds.
    ///
    /// # Safety
    ///
    /// 1. As for `read_runs`, with `RUN` as `run`.
    #[inline]
    unsafe fn in_registers<const RUN: usize>(&self, position: isize, step: isize, to: &mut [u8]) {
        let mut place = position;
        for part in to.chunks_exact_mut(RUN) {
            // SAFETY: by 1 there is a run.
            let from = unsafe { self.first.offset(place) };
            // SAFETY: 1. as above, and it is still lent with this access.
            let run = unsafe { self.access.load::<[u8; RUN]>(from) };
            // SAFETY: lent bytes are initialised.
            part.copy_from_slice(&unsafe { run.assume_init() });
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
