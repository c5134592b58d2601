//! The positions of elements, one after the other: [`Positions`].

use core::iter::FusedIterator;

use super::axes::{Axes, Axis, signed};
use super::pieces::Pieces;
use super::tiles::Part;

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
