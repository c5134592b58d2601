//! The memory of a tensor in a copy: [`Source`], which is read, and [`Target`], which is
//! written.

use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::slice;

use super::axes::Row;
use crate::byte_atomic;
use crate::element::{AnyBits, BitsAreValid};
use crate::storage::{Access, AlignedBuf};
use crate::view::TensorView;

/// The bytes that the elements of a tensor span.
#[derive(Clone, Copy)]
struct ByteSpan {
    start: *mut u8,
    len: usize,
    /// Bytes of the span before the first element.
    before: isize,
}

impl ByteSpan {
    /// The address of the first of some runs of `run` bytes.
    ///
    /// `None` unless all of them lie in the span, and for none.
    #[inline(always)]
    fn runs(self, row: Row, run: usize) -> Option<*mut u8> {
        let first = self.before.checked_add(row.position)?;
        let steps = isize::try_from(row.count.checked_sub(1)?).ok()?;
        let last = first.checked_add(steps.checked_mul(row.step)?)?;
        let end = usize::try_from(first.max(last)).ok()?.checked_add(run)?;
        (first.min(last) >= 0 && end <= self.len).then(|| self.start.wrapping_offset(first))
    }
}

/// A run of bytes that is read from its start on.
///
/// Invariant: for `'a`, `left` bytes at `from` are initialized, and lent with this access.
pub(crate) struct Run<'a> {
    from: *const u8,
    left: usize,
    access: Access,
    lent: PhantomData<&'a [u8]>,
}

impl Run<'_> {
    /// Reads the next bytes to uninitialized memory, at most `to.len()`, and returns them there.
    #[inline]
    pub(crate) fn read<'b>(&mut self, to: &'b mut [MaybeUninit<u8>]) -> &'b mut [u8] {
        let len = to.len().min(self.left);
        // SAFETY: 1. By the invariant there are `left` such bytes, and `len` is not more. 2. `to`
        // is borrowed uniquely, and has at least `len` bytes.
        unsafe { self.access.copy(self.from, to.as_mut_ptr().cast(), len) };
        (self.from, self.left) = (self.from.wrapping_add(len), self.left.wrapping_sub(len));
        // SAFETY: the first `len` bytes of `to` were just written, with initialized ones.
        unsafe { slice::from_raw_parts_mut(to.as_mut_ptr().cast(), len) }
    }
}

/// The memory that is copied from.
///
/// Invariant: for `'a`, `span` consists of initialized bytes that are lent with this access.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    span: ByteSpan,
    access: Access,
    lent: PhantomData<&'a [u8]>,
}

// SAFETY: all threads may read lent memory: it is `&[T]` of plain old data, or the
// one `&mut [T]` to it is lent to the caller, which waits for them, or it is read
// byte-wise atomically, or its producer allows it (4 of `ImportedTensor::from_raw`).
unsafe impl Sync for Source<'_> {}

impl<'a> Source<'a> {
    /// The memory of a tensor of the host.
    pub(super) fn of(from: &'a TensorView<'_>) -> Self {
        let (start, len) = from.facts().span();
        // The span lies inside of the storage, so its offset fits.
        let start = usize::try_from(start).unwrap_or(0);
        let start = from.facts().base().wrapping_add(start);
        let span = ByteSpan { start, len, before: before(from) };
        Self { span, access: from.facts().access(), lent: PhantomData }
    }

    /// The same elements in a copy of the bytes that they span.
    pub(super) fn in_span(from: &TensorView<'_>, span: &'a AlignedBuf) -> Self {
        let span = ByteSpan { start: span.as_ptr(), len: span.byte_len(), before: before(from) };
        Self { span, access: Access::Frozen, lent: PhantomData }
    }

    /// The memory from `low` to `high`, in bytes from the first element.
    ///
    /// # Safety
    ///
    /// 1. For `'a`, these bytes are initialized, and lent with this access. `low` is not
    ///    positive, and not above `high`.
    #[inline]
    pub(crate) unsafe fn new(first: *mut u8, low: isize, high: isize, access: Access) -> Self {
        Self { span: span_of(first, low, high), access, lent: PhantomData }
    }

    /// Reads one run of `to.len()` bytes to uninitialized memory, and returns it.
    ///
    /// `None` if the run does not lie in the span, and for none.
    #[inline]
    pub(super) fn read_run<'b>(
        &self,
        position: isize,
        to: &'b mut [MaybeUninit<u8>],
    ) -> Option<&'b mut [u8]> {
        Some(self.run(position, to.len())?.read(to))
    }

    /// One run of `len` bytes. `None` if it does not lie in the span, and for none.
    #[inline]
    pub(crate) fn run(&self, position: isize, len: usize) -> Option<Run<'a>> {
        let from = self.span.runs(Row { position, step: 0, at: 0, count: 1 }, len)?;
        Some(Run { from, left: len, access: self.access, lent: PhantomData })
    }

    /// Reads a row of runs of `RUN` bytes, which fit in registers. A row that does not lie
    /// in the span is not read.
    #[inline(always)]
    pub(super) fn read_small<const RUN: usize>(&self, row: Row, to: &mut [u8]) {
        // In each inlined copy the access is a constant, so it is tested outside of the loop.
        // An access that permits less is read in the same way.
        if self.access.is_read_atomically() {
            Self { access: Access::SharedReadOnly, ..*self }.read_each::<RUN>(row, to);
        } else {
            Self { access: Access::Frozen, ..*self }.read_each::<RUN>(row, to);
        }
    }

    /// As [`read_small`](Self::read_small), with a test of the access for each run.
    #[inline(always)]
    fn read_each<const RUN: usize>(&self, row: Row, to: &mut [u8]) {
        let Some(to) = row.part(RUN, to) else { return };
        let Some(mut from) = self.span.runs(row, RUN) else { return };
        let mut rest = to;
        // After the last run the address is not used.
        if self.access.is_read_atomically() {
            let mut fours = rest.chunks_exact_mut(const { RUN * 4 });
            for four in &mut fours {
                // SAFETY: 1 and 2. The four runs lie in the span, by `runs`, and are lent with
                // an access by which all others are byte-wise atomic. 3. `four` is borrowed
                // uniquely.
                unsafe { byte_atomic::load_four::<RUN>(from, row.step, four.as_mut_ptr()) };
                from = from.wrapping_offset(row.step.wrapping_mul(4));
            }
            rest = fours.into_remainder();
        }
        for part in rest.chunks_exact_mut(RUN) {
            // SAFETY: 1. The run lies in the span, by `runs`.
            let run = unsafe { self.access.load::<[u8; RUN]>(from) };
            // SAFETY: lent bytes are initialized.
            part.copy_from_slice(&unsafe { run.assume_init() });
            from = from.wrapping_offset(row.step);
        }
    }

    /// Reads a row of runs of any number of bytes. A row that does not lie in the span is
    /// not read.
    #[inline]
    pub(super) fn read_large(&self, row: Row, run: usize, to: &mut [u8]) {
        let Some(to) = row.part(run, to).filter(|to| !to.is_empty()) else { return };
        let Some(mut from) = self.span.runs(row, run) else { return };
        for part in to.chunks_exact_mut(run) {
            // SAFETY: 1. The run lies in the span, by `runs`. 2. `to` is borrowed uniquely.
            unsafe { self.access.copy(from, part.as_mut_ptr(), run) };
            // After the last run this address is not used.
            from = from.wrapping_offset(row.step);
        }
    }
}

/// The memory that is copied to.
///
/// Invariant: for `'a`, `span` consists of initialized bytes that may be read and written,
/// and that Rust code accesses byte-wise atomically only.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    span: ByteSpan,
    lent: PhantomData<&'a [u8]>,
}

impl Target<'_> {
    /// The memory from `low` to `high`, in bytes from the first element.
    ///
    /// # Safety
    ///
    /// 1. For `'a`, these bytes are initialized, may be read and written, and are accessed
    ///    by other Rust code byte-wise atomically only. `low` is not positive, and not above
    ///    `high`.
    #[inline]
    pub(crate) unsafe fn new(first: *mut u8, low: isize, high: isize) -> Self {
        Self { span: span_of(first, low, high), lent: PhantomData }
    }

    /// The memory from its lowest byte on, if it has `len` bytes: then elements of `len` bytes
    /// in total that do not overlap fill it, in whatever order.
    #[inline(always)]
    pub(crate) fn filled_by(&self, len: usize) -> Option<Self> {
        let span = ByteSpan { before: 0, ..self.span };
        (span.len == len).then_some(Self { span, ..*self })
    }

    /// Number of bytes.
    #[inline(always)]
    pub(super) fn byte_len(&self) -> usize {
        self.span.len
    }

    /// Reads the first value; `None` if the span is shorter, or if the value has no bytes.
    #[inline(always)]
    pub(super) fn first<T: AnyBits>(&self) -> Option<T> {
        let () = BitsAreValid::<T>::OK;
        if self.span.len < size_of::<T>() || size_of::<T>() == 0 {
            return None;
        }
        // SAFETY: 1 and 2: by the invariant, as the span contains the value.
        let value = unsafe { byte_atomic::load::<T>(self.span.start) };
        // SAFETY: `load` initialized all bytes, and by 4 of `Element` any are valid.
        Some(unsafe { value.assume_init() })
    }

    /// Reads the first value, and removes its bytes from the span, as [`first`](Self::first).
    #[inline(always)]
    pub(super) fn take_first<T: AnyBits>(&mut self) -> Option<T> {
        let value = self.first()?;
        let ByteSpan { start, len, before } = self.span;
        let len = len.checked_sub(size_of::<T>())?;
        self.span = ByteSpan { start: start.wrapping_add(size_of::<T>()), len, before };
        Some(value)
    }

    /// Writes the first value, and removes its bytes from the span. A span that is shorter
    /// does not change.
    #[inline(always)]
    pub(super) fn replace_first<T: AnyBits>(&mut self, value: T) {
        let ByteSpan { start, len, before } = self.span;
        let Some(len) = len.checked_sub(size_of::<T>()) else { return };
        // SAFETY: 1. By 1 of `Element`. 2. and 3. By the invariant, as the span contains the
        // value.
        unsafe { byte_atomic::store(start, value) };
        self.span = ByteSpan { start: start.wrapping_add(size_of::<T>()), len, before };
    }

    /// Calls a function with the memory of each run of a row, in its order; not for a row that does
    /// not lie in the span.
    ///
    /// The loop has two runs. A loop of one element is so short that its speed depends on where the
    /// linker puts it: a product of 500,000 strided `f64` took 146 or 272 µs, and takes 136.
    #[inline(always)]
    pub(super) fn each_run(&self, row: Row, run: usize, mut each: impl FnMut(Self)) {
        let Some(mut start) = self.span.runs(row, run) else { return };
        let at = |start| Self { span: ByteSpan { start, len: run, before: 0 }, lent: PhantomData };
        let step = row.step;
        let mut left = row.count;
        while left >= 2 {
            each(at(start));
            each(at(start.wrapping_offset(step)));
            start = start.wrapping_offset(step.wrapping_mul(2));
            left = left.wrapping_sub(2);
        }
        for _ in 0..left {
            each(at(start));
            start = start.wrapping_offset(step);
        }
    }

    /// The memory of each run of a row, in its order; none of a row that does not lie in the
    /// span.
    #[inline(always)]
    pub(super) fn runs(&self, row: Row, run: usize) -> impl Iterator<Item = Self> {
        let first = self.span.runs(row, run);
        let count = if first.is_some() { row.count } else { 0 };
        let mut start = first.unwrap_or(self.span.start);
        (0..count).map(move |_| {
            let span = ByteSpan { start, len: run, before: 0 };
            // After the last run this address is not used.
            start = start.wrapping_offset(row.step);
            Self { span, lent: PhantomData }
        })
    }

    /// Writes a row of runs of `RUN` bytes, which fit in registers. A row that does not lie
    /// in the span is not written.
    #[inline(always)]
    pub(super) fn write_small<const RUN: usize>(&self, row: Row, from: &[u8]) {
        let Some(from) = row.part_of(RUN, from) else { return };
        let Some(mut to) = self.span.runs(row, RUN) else { return };
        for part in from.chunks_exact(RUN) {
            let Ok(run) = <[u8; RUN]>::try_from(part) else { return };
            // SAFETY: 1. `run` is an array of bytes. 2. The run lies in the span, by `runs`,
            // and may be written. 3. By the invariant.
            unsafe { byte_atomic::store(to, run) };
            // After the last run this address is not used.
            to = to.wrapping_offset(row.step);
        }
    }

    /// Writes a row of runs of any number of bytes. A row that does not lie in the span is
    /// not written.
    #[inline]
    pub(super) fn write_large(&self, row: Row, run: usize, from: &[u8]) {
        let Some(from) = row.part_of(run, from).filter(|from| !from.is_empty()) else { return };
        let Some(mut to) = self.span.runs(row, run) else { return };
        for part in from.chunks_exact(run) {
            // SAFETY: 1. `part` is borrowed. 2. The run lies in the span, by `runs`, and may
            // be written. The span does not overlap private memory. 3. By the invariant.
            unsafe { byte_atomic::copy_to_shared(part.as_ptr(), to, run) };
            // After the last run this address is not used.
            to = to.wrapping_offset(row.step);
        }
    }
}

/// The bytes from `low` to `high`, counted from the first element.
#[inline]
fn span_of(first: *mut u8, low: isize, high: isize) -> ByteSpan {
    let len = high.wrapping_sub(low).unsigned_abs();
    ByteSpan { start: first.wrapping_offset(low), len, before: low.wrapping_neg() }
}

/// The first byte of the span of a tensor to its first element.
fn before(from: &TensorView<'_>) -> isize {
    let before = from.byte_offset().saturating_sub(from.facts().span().0);
    // The first element lies in the span, so its offset fits.
    isize::try_from(before).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows whose first or last run lies outside, and rows for which the buffer is too small.
    #[test]
    fn rows_outside_of_the_span_are_not_copied() {
        let mut memory = [[1_u8, 2, 3, 4], [9, 9, 9, 9]];
        // The first byte of the span is one byte before the first element.
        let first = memory.as_mut_ptr().cast::<u8>().wrapping_add(1);
        for access in [Access::Frozen, Access::Shared, Access::ForeignReadOnly] {
            // SAFETY: 1. The four bytes are part of `memory`, which is not used otherwise.
            let source = unsafe { Source::new(first, -1, 3, access) };
            // SAFETY: 1. As above.
            let target = unsafe { Target::new(first, -1, 3) };
            for (position, step, count, read) in [
                (-1, 1, 4, Some(&[1, 2, 3, 4][..])),
                (2, -3, 2, Some(&[4, 1])),
                (0, 0, 3, Some(&[2, 2, 2])),
                (-2, 1, 2, None),
                (0, 1, 4, None),
                (0, -2, 2, None),
                (isize::MAX, isize::MAX, 3, None),
                (0, 1, 9, None),
            ] {
                let row = Row { position, step, at: 0, count };
                let mut to = [0; 5];
                source.read_small::<1>(row, &mut to);
                let len = read.map_or(0, <[u8]>::len);
                assert_eq!(to[..len], *read.unwrap_or_default());
                assert_eq!(to[len..], [0; 5][len..]);
                to = [0; 5];
                source.read_large(row, 1, &mut to);
                assert_eq!(to[..len], *read.unwrap_or_default());
                if read.is_none() {
                    target.write_small::<1>(row, &[7; 9]);
                    target.write_large(row, 1, &[7; 9]);
                }
            }
            let row = Row { position: 1, step: 2, at: 0, count: 1 };
            let mut to = [0; 2];
            source.read_large(row, 2, &mut to);
            assert_eq!(to, [3, 4]);
            source.read_large(Row { position: 2, ..row }, 2, &mut to);
            source.read_large(row, 0, &mut to);
            assert_eq!(to, [3, 4]);
            assert!(source.read_run(3, &mut [MaybeUninit::new(0)]).is_none());
        }
        assert_eq!(memory, [[1, 2, 3, 4], [9, 9, 9, 9]]);
    }
}
