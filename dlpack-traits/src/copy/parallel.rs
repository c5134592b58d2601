//! Copying along axes: in an order that is kind to caches, and on a second core
//! where that pays.
//!
//! Axes that continue each other are merged, and a transposed matrix is copied in tiles of
//! 16 by 16. A large copy is shared with one more thread, piece by piece, so that a busy
//! machine does not delay it; a third thread would take a core from the program. In a
//! virtual machine the first write to a page can wait for the host (4 ms for 2 MiB, 0.09 ms
//! afterwards), whichever code makes the copy.

#[cfg(feature = "std")]
use super::axes::signed;
use super::axes::{Axes, Axis};
use super::source::Source;
use super::tiles::Part;
use crate::strides;

/// Bytes from which a second core helps: some milliseconds of work
/// against some tens of microseconds for a thread.
#[cfg(feature = "std")]
const LARGE: usize = 8 << 20;

/// Bytes, about, that one of two threads takes at a time.
#[cfg(feature = "std")]
const PIECE: usize = 2 << 20;

/// Writes the runs of `run` bytes that lie along `axes` one after the other.
///
/// Each place along the axes is counted from the source's first element. `to` has room for
/// the runs, and no more; each axis says how far apart its parts are there.
pub(super) fn copy(source: &Source<'_>, axes: &[Axis], run: usize, to: &mut [u8]) {
    let single = Axis { dim: 1, from: 0, to: run };
    let (outer, inner) = axes.split_first().map_or((single, axes), |(first, rest)| (*first, rest));
    let whole = Part { position: 0, outer, inner, run };
    #[cfg(feature = "std")]
    if to.len() >= LARGE && has_another_core() {
        return by_two(source, whole, to);
    }
    whole.read(source, to);
}

impl Source<'_> {
    /// Reads elements of `size` bytes, one after the other, in row-major order. Strides count
    /// steps of `step` bytes. `to` has exactly the bytes that the elements take.
    pub(crate) fn copy(
        &self,
        (shape, strides): (&[i64], &[i64]),
        step: usize,
        size: usize,
        to: &mut [u8],
    ) {
        if to.is_empty() {
            return;
        }
        if step == size && strides::is_row_major(shape, strides) {
            return copy(self, &[], to.len(), to);
        }
        let axes = Axes::new(shape, strides, step, size);
        copy(self, axes.as_slice(), axes.run, to);
    }
}

/// Whether this process may run on more than one core.
#[cfg(feature = "std")]
fn has_another_core() -> bool {
    std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1)
}

/// Copies with the help of a second thread, if there can be one.
///
/// Both take piece after piece, so that neither waits long for the other, which may
/// not get a core at all.
#[cfg(feature = "std")]
fn by_two(source: &Source<'_>, whole: Part<'_>, to: &mut [u8]) {
    use std::sync::{Mutex, PoisonError};
    use std::thread;

    let step = whole.step();
    let pieces = Mutex::new(to.chunks_mut(whole.piece_len(step)).enumerate());
    let next = || pieces.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        while let Some((index, to)) = next() {
            let piece = whole.piece(index.wrapping_mul(step), to.len());
            piece.read(source, to);
        }
    };
    thread::scope(|scope| {
        // Without a helper all pieces are done here.
        let _ = thread::Builder::new().spawn_scoped(scope, work);
        work();
    });
}

#[cfg(feature = "std")]
impl Part<'_> {
    /// How many of the outermost axis make a piece, or how many bytes of a single
    /// run.
    fn step(self) -> usize {
        let bytes = if self.outer.dim < 2 { 1 } else { self.outer.to };
        PIECE.checked_div(bytes).unwrap_or(1).max(1)
    }

    /// Bytes that they take in the copy.
    fn piece_len(self, step: usize) -> usize {
        if self.outer.dim < 2 { step } else { step.saturating_mul(self.outer.to) }
    }

    /// The piece that begins `first` of the outermost axis, or bytes of a single run,
    /// further on, and has `byte_len` bytes.
    fn piece(self, first: usize, byte_len: usize) -> Self {
        let Self { position, outer, .. } = self;
        if outer.dim < 2 {
            // A single run is all there is. It can be cut anywhere.
            return Self { position: position.wrapping_add(signed(first)), run: byte_len, ..self };
        }
        let position = position.wrapping_add(outer.from.wrapping_mul(signed(first)));
        let dim = byte_len.checked_div(outer.to).unwrap_or(0);
        Self { position, outer: Axis { dim, ..outer }, ..self }
    }
}

#[cfg(test)]
#[cfg(feature = "std")]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    fn part(outer: Axis, inner: &[Axis], run: usize) -> Part<'_> {
        Part { position: 7, outer, inner, run }
    }

    /// Pieces of a tensor of that many bytes: where they begin in it, how many steps of
    /// the outer axis (or bytes of a single run) they are, and how long.
    fn pieces(part: Part<'_>, len: usize) -> Vec<(isize, usize, usize)> {
        let step = part.step();
        let starts = (0..len).step_by(part.piece_len(step));
        let ends = (0..len).step_by(part.piece_len(step)).skip(1).chain([len]);
        let bytes = starts.zip(ends).map(|(start, end)| end - start);
        let piece = |(index, bytes)| {
            let piece = part.piece(index * step, bytes);
            assert_eq!(piece.inner, part.inner);
            (piece.position, if part.outer.dim < 2 { piece.run } else { piece.outer.dim }, bytes)
        };
        bytes.enumerate().map(piece).collect()
    }

    /// The pieces of a single run have a number of bytes that is a multiple of every element size.
    #[test]
    fn a_single_run_is_cut_into_pieces() {
        let len = 2 * PIECE + 24;
        let single = part(Axis { dim: 1, from: 0, to: len }, &[], len);
        let piece = signed(PIECE);
        assert_eq!(
            pieces(single, len),
            [(7, PIECE, PIECE), (7 + piece, PIECE, PIECE), (7 + 2 * piece, 24, 24)]
        );
        assert_eq!(PIECE % 64, 0);
    }

    /// Of axes they are whole rows, as many as come close to the size.
    #[test]
    fn rows_are_cut_into_pieces() {
        let row = PIECE / 2 - 8;
        let rows = Axis { dim: 5, from: -3, to: row };
        let columns = [Axis { dim: 2, from: 100, to: 4 }];
        let cut = pieces(part(rows, &columns, 4), 5 * row);
        assert_eq!(cut, [(7, 2, 2 * row), (7 - 6, 2, 2 * row), (7 - 12, 1, row)]);
        // Two rows are an axis; one that is longer than a piece is a piece.
        let rows = Axis { dim: 2, from: 9, to: PIECE + 4 };
        let cut = pieces(part(rows, &[], 4), 2 * PIECE + 8);
        assert_eq!(cut, [(7, 1, PIECE + 4), (16, 1, PIECE + 4)]);
    }
}
