//! A tensor cut into pieces that fit in a buffer ([`Pieces`]), and the positions of its elements, one
//! after the other ([`Positions`]).

use core::iter::FusedIterator;
use core::mem::MaybeUninit;

use super::axes::{Axes, Axis, signed};
use super::source::{Source, Target};
use super::tiles::{Part, TILE};

/// The most bytes of a buffer for whole rows of tiles: less than the second-level cache of
/// a current processor.
const MOST: usize = 1 << 20;

/// A tensor cut into pieces, in the order of its axes. Each piece is a number of steps
/// along one axis, with all axes inside of that one.
#[derive(Clone, Debug)]
pub(crate) struct Pieces {
    axes: Axes,
    /// Bytes from the first element of the tensor to the first one of these axes.
    first: isize,
    /// The axis that is cut; the number of axes if the runs are cut.
    cut: usize,
    /// Steps along that axis in each piece but the last, or bytes of a run.
    step: usize,
    /// Pieces in one pass along that axis.
    per_pass: usize,
    /// The next piece, counted over all passes.
    next: usize,
    /// Number of pieces.
    len: usize,
}

impl Pieces {
    /// Cuts a tensor that is not empty into pieces of at most `room` bytes, between units
    /// of `unit` bytes: elements, or rows along the last dimension. `room` is not less than
    /// a unit.
    pub(crate) fn new(axes: Axes, first: isize, unit: usize, room: usize) -> Self {
        let list = axes.as_slice();
        // From the innermost axis on, as many axes as fit in the room as a whole.
        let mut inside = axes.run;
        let mut cut = list.len();
        let (mut most, mut dim) = (in_units(room, unit), axes.run);
        // Steps along the axis per unit. The last dimension lies in one axis.
        let mut in_unit = 1;
        for (index, axis) in list.iter().enumerate().rev() {
            if inside > room {
                break;
            }
            (cut, most, dim) = (index, room.checked_div(axis.to).unwrap_or(1), axis.dim);
            in_unit = unit.div_ceil(axis.to.max(1)).max(1);
            inside = axis.dim.saturating_mul(axis.to);
        }
        let (step, per_pass) = if cut == list.len() {
            (most, dim.div_ceil(most.max(1)))
        } else {
            // Pieces of nearly equal size.
            let most = most.checked_div(in_unit).unwrap_or(1);
            let units = dim.checked_div(in_unit).unwrap_or(1);
            let per_pass = units.div_ceil(most.max(1));
            (units.div_ceil(per_pass.max(1)).saturating_mul(in_unit), per_pass)
        };
        let step = step.max(1);
        let per_pass = if cut == list.len() { per_pass } else { dim.div_ceil(step) };
        let passes = list.iter().take(cut).fold(1_usize, |passes, axis| {
            // All elements together have at most `isize::MAX` bytes.
            passes.saturating_mul(axis.dim)
        });
        Self { first, cut, step, per_pass, next: 0, len: passes.saturating_mul(per_pass), axes }
    }

    /// Cuts a tensor into pieces of all steps along the innermost axes, `inner` of them. There are at
    /// least as many pieces as a tensor that is not empty has.
    pub(crate) fn inner(axes: Axes, first: isize, inner: usize) -> Self {
        let list = axes.as_slice();
        let cut = list.len().saturating_sub(inner);
        let step = list.get(cut).map_or(axes.run, |axis| axis.dim);
        // All elements together have at most `isize::MAX` bytes.
        let len = list.iter().take(cut).fold(1_usize, |len, axis| len.saturating_mul(axis.dim));
        Self { first, cut, step, per_pass: 1, next: 0, len, axes }
    }

    /// The size of the buffer, in bytes, in which the axes can be read by whole tiles; 0 if
    /// their order is kind to the cache, or if no such buffer is small enough.
    pub(crate) fn room_for_tiles(axes: &Axes) -> usize {
        match axes.as_slice() {
            [.., rows, columns] if columns.from.unsigned_abs() > rows.from.unsigned_abs() => {
                let room = TILE.min(rows.dim).saturating_mul(rows.to);
                if room > MOST { 0 } else { room }
            }
            _ => 0,
        }
    }

    /// The most bytes of a piece of a copy whose destination has room for all of them: no
    /// limit for a contiguous tensor.
    pub(crate) fn room_for_copy(axes: &Axes) -> usize {
        match axes.as_slice() {
            [] => usize::MAX,
            [.., rows, columns] if columns.from.unsigned_abs() > rows.from.unsigned_abs() => {
                TILE.min(rows.dim).saturating_mul(rows.to).max(MOST)
            }
            _ => MOST,
        }
    }

    /// Skips the first pieces.
    #[inline]
    pub(crate) fn skip(mut self, pieces: usize) -> Self {
        self.next = pieces;
        self
    }

    /// The next piece.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<Part<'_>> {
        if self.next >= self.len {
            return None;
        }
        let index = self.next;
        self.next = index.wrapping_add(1);
        let list = self.axes.as_slice();
        let mut pass = index.checked_div(self.per_pass).unwrap_or(0);
        let done = index.wrapping_sub(pass.wrapping_mul(self.per_pass)).wrapping_mul(self.step);
        let mut position = self.first;
        for axis in list.iter().take(self.cut).rev() {
            let outer = pass.checked_div(axis.dim).unwrap_or(0);
            let index = pass.wrapping_sub(outer.wrapping_mul(axis.dim));
            position = position.wrapping_add(axis.from.wrapping_mul(signed(index)));
            pass = outer;
        }
        let run = self.axes.run;
        Some(if let Some([axis, inner @ ..]) = list.get(self.cut..) {
            position = position.wrapping_add(axis.from.wrapping_mul(signed(done)));
            let dim = self.step.min(axis.dim.wrapping_sub(done));
            Part { position, outer: Axis { dim, ..*axis }, inner, run }
        } else {
            position = position.wrapping_add(signed(done));
            Part::of_run(position, self.step.min(run.wrapping_sub(done)))
        })
    }
}

impl Part<'static> {
    /// A single run of `len` bytes.
    #[inline]
    pub(crate) fn of_run(position: isize, len: usize) -> Self {
        Self { position, outer: Axis { dim: 1, from: 0, to: len }, inner: &[], run: len }
    }
}

impl Part<'_> {
    /// Reads the piece to the start of a buffer, and returns that part of it. `None` if the
    /// buffer is too small, or if the piece does not lie in the span of the source.
    #[inline]
    pub(crate) fn read_to<'b>(
        self,
        source: &Source<'_>,
        to: &'b mut [MaybeUninit<u8>],
    ) -> Option<&'b mut [u8]> {
        let to = to.get_mut(..self.byte_len())?;
        if let Some(position) = self.single() {
            return source.read_run(position, to);
        }
        let to = zeroed(to);
        self.read(source, to);
        Some(to)
    }

    /// Writes the piece from the start of a buffer that contains it.
    #[inline]
    pub(crate) fn write_from(self, target: &Target<'_>, from: &[u8]) {
        self.write(target, from);
    }
}

/// Zeroes a buffer.
#[inline]
fn zeroed(to: &mut [MaybeUninit<u8>]) -> &mut [u8] {
    to.fill(MaybeUninit::new(0));
    // SAFETY: all bytes were just written.
    unsafe { core::slice::from_raw_parts_mut(to.as_mut_ptr().cast(), to.len()) }
}

/// The largest multiple of a unit that is not above `room`.
#[inline]
fn in_units(room: usize, unit: usize) -> usize {
    room.checked_div(unit).unwrap_or(0).saturating_mul(unit)
}

/// Iterates over the positions of the elements of a tensor, in bytes from its first one, in the
/// order of its axes.
#[derive(Clone, Debug)]
pub(crate) struct Positions {
    /// Matrices of elements that have not been begun.
    matrices: Pieces,
    /// The rows of the current matrix that have not been begun: the position of the first one, and
    /// their axis.
    rows: (isize, Axis),
    /// The rest of the current row: the position of the first element, and their axis.
    row: (isize, Axis),
    /// The axis of each row of the current matrix.
    each: Axis,
    /// Bytes per element.
    size: usize,
    /// Number of elements in rows that have not been begun.
    left: usize,
}

impl Positions {
    /// `len` elements of `size` bytes along the axes.
    #[inline]
    pub(crate) fn new(axes: Axes, size: usize, len: usize) -> Self {
        // A run of several elements is a row.
        let inner = if axes.run_len() == size { 2 } else { 1 };
        let none = (0, Axis::default());
        let matrices = Pieces::inner(axes, 0, inner);
        Self { matrices, rows: none, row: none, each: none.1, size, left: len }
    }

    /// Begins the next row; `None` if there is none.
    #[inline]
    fn begin_row(&mut self) -> Option<()> {
        if self.left == 0 {
            return None;
        }
        if self.rows.1.dim == 0 {
            let Part { position, outer, inner, run } = self.matrices.take()?;
            let one = Axis { dim: 1, from: 0, to: 0 };
            let (rows, each) = match inner.first() {
                // The elements of a run.
                _ if run != self.size => {
                    let dim = run.checked_div(self.size).unwrap_or(0);
                    (outer, Axis { dim, from: signed(self.size), to: 0 })
                }
                Some(columns) => (outer, *columns),
                None => (one, outer),
            };
            (self.rows, self.each) = ((position, rows), each);
        }
        self.row = (take(&mut self.rows), self.each);
        self.left = self.left.saturating_sub(self.each.dim);
        Some(())
    }
}

/// The first of some positions, which it leaves out. There is one.
#[inline]
fn take((position, axis): &mut (isize, Axis)) -> isize {
    let first = *position;
    // After the last one the position is not used, so it may wrap.
    *position = first.wrapping_add(axis.from);
    axis.dim = axis.dim.wrapping_sub(1);
    first
}

impl Iterator for Positions {
    type Item = isize;

    #[inline]
    fn next(&mut self) -> Option<isize> {
        if self.row.1.dim == 0 {
            self.begin_row()?;
        }
        Some(take(&mut self.row))
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.left.saturating_add(self.row.1.dim);
        (left, Some(left))
    }

    #[inline]
    fn fold<A, F: FnMut(A, isize) -> A>(mut self, mut result: A, mut f: F) -> A {
        loop {
            let (mut position, axis) = self.row;
            for _ in 0..axis.dim {
                result = f(result, position);
                position = position.wrapping_add(axis.from);
            }
            if self.begin_row().is_none() {
                return result;
            }
        }
    }
}

impl ExactSizeIterator for Positions {}
impl FusedIterator for Positions {}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    /// Next to a walk by indices, one by one and by `fold`, from the first element and from the fourth.
    #[test]
    fn each_element_is_visited_in_row_major_order() {
        for (shape, strides) in [
            (&[][..], &[][..]),
            (&[5], &[-2]),
            (&[1, 1], &[2, 5]),
            (&[2, 3], &[3, 1]),
            (&[2, 3], &[-3, -1]),
            (&[2, 3], &[4, 1]),
            (&[2, 3], &[1, 2]),
            (&[2, 3], &[0, 0]),
            (&[2, 0], &[1, 1]),
            (&[2, 1, 3, 1], &[3, 7, 1, 9]),
            (&[2, 2, 3], &[9, 3, 1]),
            (&[2, 3, 2, 2], &[99, -20, 7, 3]),
            (&[2, 3, 2, 2], &[99, 8, 2, 1]),
            (&[2, 3, 2, 2], &[1, 2, 6, 12]),
        ] {
            let len = shape.iter().product::<i64>();
            let expected = (0..len)
                .map(|number| {
                    let mut rest = number;
                    let axes = shape.iter().zip(strides).rev();
                    axes.map(|(dim, stride): (&i64, &i64)| {
                        let index = rest % dim;
                        rest /= dim;
                        index * stride * 4
                    })
                    .sum::<i64>()
                })
                .map(|position| isize::try_from(position).expect("a small tensor"))
                .collect::<Vec<_>>();
            let all = || Positions::new(Axes::new(shape, strides, 4, 4), 4, expected.len());
            assert_eq!(
                all().fold(Vec::new(), |mut list, position| {
                    list.push(position);
                    list
                }),
                expected
            );
            let mut each = all();
            for (done, &position) in expected.iter().enumerate() {
                assert_eq!(each.len(), expected.len() - done);
                if done == 3 {
                    assert_eq!(each.clone().collect::<Vec<_>>(), expected[3..]);
                }
                assert_eq!(each.next(), Some(position), "{shape:?} {strides:?}");
            }
            assert_eq!((each.next(), each.next(), each.len()), (None, None, 0));
        }
    }
}
