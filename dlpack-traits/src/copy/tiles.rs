//! The order of a copy: [`Part`] visits runs of bytes row by row, and by tiles where that is
//! kind to the cache.

use super::axes::{Axis, Row, signed};
use super::source::{Source, Target};

/// Rows in a tile, and runs in each row of it: so many cache lines are in use at once. 16
/// lines stay in the first-level cache also if their addresses are a power of two apart.
pub(super) const TILE: usize = 16;

/// Some of the runs of a copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part<'a> {
    /// Bytes from the first element of the tensor to the first run.
    pub(super) position: isize,
    pub(super) outer: Axis,
    pub(super) inner: &'a [Axis],
    /// Bytes per run.
    pub(super) run: usize,
}

impl<'a> Part<'a> {
    /// All runs of `run` bytes along `axes`, from the first element of the tensor.
    pub(super) fn along(axes: &'a [Axis], run: usize) -> Self {
        let single = Axis { dim: 1, from: 0, to: run };
        let (outer, inner) =
            axes.split_first().map_or((single, axes), |(first, rest)| (*first, rest));
        Self { position: 0, outer, inner, run }
    }
}

impl Part<'_> {
    /// Number of bytes of all runs.
    #[inline]
    pub(crate) fn byte_len(&self) -> usize {
        if self.outer.dim < 2 {
            self.outer.to
        } else {
            self.outer.dim.saturating_mul(self.outer.to)
        }
    }

    /// The position of the run, if there is one only.
    #[inline]
    pub(super) fn single(&self) -> Option<isize> {
        (self.inner.is_empty() && self.outer.dim < 2).then_some(self.position)
    }

    /// Reads the runs. `to` has room for them.
    pub(super) fn read(self, source: &Source<'_>, to: &mut [u8]) {
        match self.run {
            1 => self.rows(0, &mut |row| source.read_small::<1>(row, to)),
            2 => self.rows(0, &mut |row| source.read_small::<2>(row, to)),
            4 => self.rows(0, &mut |row| source.read_small::<4>(row, to)),
            8 => self.rows(0, &mut |row| source.read_small::<8>(row, to)),
            16 => self.rows(0, &mut |row| source.read_small::<16>(row, to)),
            run => self.rows(0, &mut |row| source.read_large(row, run, to)),
        }
    }

    /// Writes the runs. `from` contains them.
    pub(super) fn write(self, target: &Target<'_>, from: &[u8]) {
        match self.run {
            1 => self.rows(0, &mut |row| target.write_small::<1>(row, from)),
            2 => self.rows(0, &mut |row| target.write_small::<2>(row, from)),
            4 => self.rows(0, &mut |row| target.write_small::<4>(row, from)),
            8 => self.rows(0, &mut |row| target.write_small::<8>(row, from)),
            16 => self.rows(0, &mut |row| target.write_small::<16>(row, from)),
            run => self.rows(0, &mut |row| target.write_large(row, run, from)),
        }
    }

    /// The rows of a part with at most two axes, in their order.
    #[inline(always)]
    pub(super) fn matrix_rows(self) -> impl Iterator<Item = Row> {
        let Self { position, outer, inner, .. } = self;
        let (mut row, step, count) = match inner {
            [] => (Row { position, step: outer.from, at: 0, count: outer.dim }, 0, 1),
            [columns, ..] => (
                Row { position, step: columns.from, at: 0, count: columns.dim },
                outer.from,
                outer.dim,
            ),
        };
        (0..count).map(move |_| {
            let this = row;
            row.position = row.position.wrapping_add(step);
            this
        })
    }

    /// Calls a function with each row. The first one is `at` bytes from the start of the
    /// buffer.
    pub(super) fn rows<F: FnMut(Row)>(self, at: usize, each: &mut F) {
        let Self { position, outer, inner, run } = self;
        match inner {
            [] => each(Row { position, step: outer.from, at, count: outer.dim }),
            [columns] if columns.from.unsigned_abs() > outer.from.unsigned_abs() => {
                self.tiles(*columns, at, each);
            }
            [columns] => {
                let step = columns.from;
                let mut row = Row { position, step, at, count: columns.dim };
                for _ in 0..outer.dim {
                    each(row);
                    row.position = row.position.wrapping_add(outer.from);
                    row.at = row.at.wrapping_add(outer.to);
                }
            }
            [next, inner @ ..] => {
                let mut part = Part { position, outer: *next, inner, run };
                let mut at = at;
                for _ in 0..outer.dim {
                    part.rows(at, each);
                    part.position = part.position.wrapping_add(outer.from);
                    at = at.wrapping_add(outer.to);
                }
            }
        }
    }

    /// Visits a matrix whose columns are contiguous in the tensor by tiles, so that a cache
    /// line is still cached when its next run is visited.
    fn tiles<F: FnMut(Row)>(self, columns: Axis, at: usize, each: &mut F) {
        let Self { position, outer: rows, run, .. } = self;
        for first_row in (0..rows.dim).step_by(TILE) {
            let height = TILE.min(rows.dim.wrapping_sub(first_row));
            for column in (0..columns.dim).step_by(TILE) {
                let count = TILE.min(columns.dim.wrapping_sub(column));
                for row in first_row..first_row.wrapping_add(height) {
                    let position = position
                        .wrapping_add(rows.from.wrapping_mul(signed(row)))
                        .wrapping_add(columns.from.wrapping_mul(signed(column)));
                    let at = at
                        .wrapping_add(row.wrapping_mul(rows.to))
                        .wrapping_add(column.wrapping_mul(run));
                    each(Row { position, step: columns.from, at, count });
                }
            }
        }
    }
}
