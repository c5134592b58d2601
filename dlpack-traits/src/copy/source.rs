//! Reading what is copied, with the access with which it is lent: [`Source`].

use core::marker::PhantomData;

use crate::storage::{Access, AlignedBuf};
use crate::view::TensorView;

/// The memory that is copied from.
///
/// Invariant: for `'a`, `span` is the first of `len` initialised bytes that are lent with this
/// access.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    span: *const u8,
    len: usize,
    /// Bytes of the span before the first element.
    before: isize,
    access: Access,
    lent: PhantomData<&'a [u8]>,
}

// SAFETY: all threads may read lent memory: it is `&[T]` of plain old data, or the
// one `&mut [T]` to it is lent to the caller, which waits for them, or it is read
// byte-wise atomically, or its producer says so (4 of `ImportedTensor::from_raw`).
unsafe impl Sync for Source<'_> {}

impl<'a> Source<'a> {
    /// The memory of a tensor of the host.
    pub(super) fn of(from: &'a TensorView<'_>) -> Self {
        let (start, len) = from.facts().span();
        // The span lies inside of the storage, so its offset fits.
        let start = usize::try_from(start).unwrap_or(0);
        let span = from.facts().base().cast_const().wrapping_add(start);
        Self { span, len, before: before(from), access: from.facts().access(), lent: PhantomData }
    }

    /// The same elements in a copy of the bytes that they span.
    pub(super) fn in_span(from: &TensorView<'_>, span: &'a AlignedBuf) -> Self {
        Self {
            span: span.as_ptr(),
            len: span.byte_len(),
            before: before(from),
            access: Access::Frozen,
            lent: PhantomData,
        }
    }

    /// The first byte of `count` runs of `run` bytes, the first of which is `position` bytes
    /// from the first element, and the next `step` bytes from there.
    ///
    /// `None` unless all of them lie in the span, and for none.
    #[inline(always)]
    fn runs(&self, position: isize, step: isize, count: usize, run: usize) -> Option<*const u8> {
        let first = self.before.checked_add(position)?;
        let steps = isize::try_from(count.checked_sub(1)?).ok()?;
        let last = first.checked_add(steps.checked_mul(step)?)?;
        let end = usize::try_from(first.max(last)).ok()?.checked_add(run)?;
        (first.min(last) >= 0 && end <= self.len).then(|| self.span.wrapping_offset(first))
    }

    /// Reads runs of `run` bytes, one for each `run` bytes of `to`, the first of
    /// which is `position` bytes from the first element, and the next `step`
    /// bytes from there. Runs outside of the span are not read.
    #[inline(always)]
    pub(super) fn read_runs(&self, position: isize, step: isize, run: usize, to: &mut [u8]) {
        match run {
            1 => self.in_registers::<1>(position, step, to),
            2 => self.in_registers::<2>(position, step, to),
            4 => self.in_registers::<4>(position, step, to),
            8 => self.in_registers::<8>(position, step, to),
            16 => self.in_registers::<16>(position, step, to),
            _ => self.each(position, step, run, to),
        }
    }

    /// [`read_runs`](Self::read_runs) of runs that a register holds.
    #[inline]
    fn in_registers<const RUN: usize>(&self, position: isize, step: isize, to: &mut [u8]) {
        let parts = to.chunks_exact_mut(RUN);
        let Some(mut from) = self.runs(position, step, parts.len(), RUN) else { return };
        for part in parts {
            // SAFETY: 1. The run lies in the span, by `runs`.
            let run = unsafe { self.access.load::<[u8; RUN]>(from) };
            // SAFETY: lent bytes are initialised.
            part.copy_from_slice(&unsafe { run.assume_init() });
            // The last one may lead out of the memory, and is not used.
            from = from.wrapping_offset(step);
        }
    }

    /// [`read_runs`](Self::read_runs) of any runs.
    #[inline]
    fn each(&self, position: isize, step: isize, run: usize, to: &mut [u8]) {
        let Some(count) = to.len().checked_div(run) else { return };
        let Some(mut from) = self.runs(position, step, count, run) else { return };
        for part in to.chunks_exact_mut(run) {
            // SAFETY: 1. The run lies in the span, by `runs`. 2. `to` is memory of our own.
            unsafe { self.access.copy(from, part.as_mut_ptr(), run) };
            from = from.wrapping_offset(step);
        }
    }
}

/// Bytes of the span of a tensor before its first element.
fn before(from: &TensorView<'_>) -> isize {
    let before = from.byte_offset().saturating_sub(from.facts().span().0);
    // The first element lies in the span, so its offset fits.
    isize::try_from(before).unwrap_or(0)
}
