//! Elements that are visited one by one, by iterators that read blocks, and by rows along the last
//! dimension: [`Elements::iter`], [`Elements::for_each_row`].

use alloc::vec::Vec;
use core::iter::FusedIterator;
use core::mem::MaybeUninit;

use super::Elements;
use super::block::{self, checked};
use super::by_value::Visit;
use crate::copy::{Part, Pieces};
use crate::element::{AnyBits, ByValue, Readable, zero};
use crate::error::Error;
use crate::storage::block_len;

impl<'a, T: Readable> Elements<'a, T> {
    /// Iterates over all elements in row-major order of their indices, and validates each
    /// of them. For types without invalid bit patterns, [`iter`](Self::iter) is simpler.
    ///
    /// The iterator allocates a buffer of at most 8 KiB (1 MiB for a transposed tensor);
    /// [`try_for_each_block`](Self::try_for_each_block) does so only for a transposed tensor.
    #[inline]
    pub fn try_iter(
        &self,
    ) -> impl ExactSizeIterator<Item = Result<T, Error>> + FusedIterator + use<'a, T> {
        TryIter::new(*self)
    }
}

impl<'a, T> Elements<'a, T> {
    /// Iterates over all elements in row-major order of their indices.
    ///
    /// The iterator allocates a buffer of at most 8 KiB (1 MiB for a transposed tensor);
    /// [`for_each_block`](Self::for_each_block) does so only for a transposed tensor, and is
    /// faster for sums.
    #[inline]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = T> + FusedIterator + use<'a, T>
    where
        T: AnyBits,
    {
        // Every bit pattern is a valid value, so no element is an error.
        self.try_iter().map(|element| element.unwrap_or_else(|_| zero()))
    }
}

/// The iterator of [`Elements::try_iter`]: reads blocks ahead.
///
/// Its methods that run for each element pass fields, and not `self`, to the function that
/// reads a block: then the compiler keeps the fields in registers.
struct TryIter<'a, T> {
    elements: Elements<'a, T>,
    /// Room for a block.
    block: Vec<MaybeUninit<T>>,
    /// Number of elements in the current block.
    len: usize,
    /// The next element in the block.
    at: usize,
    /// Number of blocks that were read.
    blocks: usize,
    /// Number of elements after the block.
    left: usize,
}

impl<'a, T: Readable> TryIter<'a, T> {
    #[inline]
    fn new(elements: Elements<'a, T>) -> Self {
        let () = ByValue::<T>::FITS;
        let mut block = Vec::new();
        block.resize(elements.block_len(), MaybeUninit::uninit());
        Self { elements, block, len: 0, at: 0, blocks: 0, left: elements.len() }
    }

    /// Reads the next block. Returns whether there is one.
    #[inline]
    fn refill(&mut self) -> bool {
        if self.left == 0 {
            return false;
        }
        let len = self.elements.read_block(self.blocks, self.left, &mut self.block);
        (self.len, self.at) = (len, 0);
        self.blocks = self.blocks.wrapping_add(1);
        self.left = self.left.saturating_sub(len);
        len != 0
    }
}

impl<T: Readable> Elements<'_, T> {
    /// Number of elements in a block of an iterator.
    #[inline]
    fn block_len(&self) -> usize {
        let most = block_len::<T>(self.len());
        if self.len() <= most || self.typed().is_contiguous::<T>() {
            return self.len().min(most);
        }
        let tiles = Pieces::room_for_tiles(&self.axes(Visit::RowMajor).0);
        most.max(tiles.checked_div(size_of::<T>()).unwrap_or(0))
    }

    /// Reads the block with this number. `left` elements have not been read before. Returns
    /// the number of elements that were read to the start of `to`.
    #[cold]
    #[inline(never)]
    fn read_block(&self, index: usize, left: usize, to: &mut [MaybeUninit<T>]) -> usize {
        let (source, size) = (self.source(), size_of::<T>());
        let to = block::as_bytes(to);
        let read = if self.typed().is_contiguous::<T>() {
            let done = self.len().wrapping_sub(left).wrapping_mul(size);
            let len = left.saturating_mul(size).min(to.len());
            // A size in memory fits.
            Part::of_run(0_isize.wrapping_add_unsigned(done), len).read_to(&source, to)
        } else {
            let (axes, first) = self.axes(Visit::RowMajor);
            let mut pieces = Pieces::new(axes, first, size, to.len()).skip(index);
            pieces.take().and_then(|piece| piece.read_to(&source, to))
        };
        read.map_or(0, |bytes| bytes.len()).checked_div(size).unwrap_or(0)
    }
}

impl<T: Readable> Iterator for TryIter<'_, T> {
    type Item = Result<T, Error>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.at == self.len && !self.refill() {
            return None;
        }
        let element = *self.block.get(self.at)?;
        self.at = self.at.wrapping_add(1);
        // SAFETY: 1. The first `len` elements of the block were read.
        Some(unsafe { checked(element) })
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.left.saturating_add(self.len.wrapping_sub(self.at));
        (left, Some(left))
    }

    #[inline]
    fn fold<A, F: FnMut(A, Self::Item) -> A>(mut self, mut result: A, mut f: F) -> A {
        loop {
            for &element in self.block.get(self.at..self.len).unwrap_or_default() {
                // SAFETY: 1. The first `len` elements of the block were read.
                result = f(result, unsafe { checked(element) });
            }
            if !self.refill() {
                return result;
            }
        }
    }
}

impl<T: Readable> ExactSizeIterator for TryIter<'_, T> {}
impl<T: Readable> FusedIterator for TryIter<'_, T> {}

impl<T: Readable> Elements<'_, T> {
    /// Calls a function with each row along the last dimension, in row-major order, in any
    /// layout. A tensor without dimensions is one row of one element.
    ///
    /// The rows are read by blocks of whole rows, as
    /// [`for_each_block`](Self::for_each_block) reads; a row larger than a block is read to
    /// memory on the heap. A tensor without elements has rows if only its last dimension is 0: the
    /// function is called with each of them, as a loop over a NumPy array is.
    ///
    /// ```
    /// # use dlpack_traits::{DLPackExport, Describe, Description, Error, Storage};
    /// # struct Matrix(Vec<f32>);
    /// # impl DLPackExport for Matrix {
    /// #     fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
    /// #         out.shape(&[2, 2]).data(self.0.data())
    /// #     }
    /// # }
    /// let tensor = Matrix(vec![3.0, 4.0, 0.0, 1.0]).into_dlpack()?.import()?;
    /// let mut norms = vec![];
    /// tensor.elements::<f32>()?.for_each_row(|row| {
    ///     norms.push(row.iter().map(|value| value * value).sum::<f32>().sqrt());
    /// })?;
    /// assert_eq!(norms, [5.0, 1.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// The function returns nothing; [`try_for_each_row`](Self::try_for_each_row) stops at an error of
    /// the function.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidBits`]: the function has been called with at most the rows before
    /// the invalid element. [`Error::OutOfMemory`] if memory for a row that is
    /// larger than a block cannot be allocated. [`Error::SizeOverflow`] for more than 2^32 - 1 rows
    /// without elements: a tensor needs no memory for them.
    #[inline]
    pub fn for_each_row(&self, mut f: impl FnMut(&[T])) -> Result<(), Error> {
        self.try_for_each_row(|row| {
            f(row);
            Ok(())
        })
    }

    /// Calls a function that may fail with each row, as [`for_each_row`](Self::for_each_row) does, and
    /// returns its first error. It is not called again after an error.
    ///
    /// ```
    /// # use dlpack_traits::{DLPackExport, Error, OwnedTensor};
    /// #[derive(Debug, PartialEq)]
    /// enum Problem {
    ///     Zeros { row: usize },
    ///     Tensor(Error),
    /// }
    ///
    /// impl From<Error> for Problem {
    ///     fn from(error: Error) -> Self {
    ///         Problem::Tensor(error)
    ///     }
    /// }
    ///
    /// let tensor = OwnedTensor::new(vec![3, 4, 0, 0], &[2, 2])?.into_dlpack()?.import()?;
    /// let mut row = 0;
    /// let result = tensor.elements::<i32>()?.try_for_each_row(|values| {
    ///     if values.iter().all(|&value| value == 0) {
    ///         return Err(Problem::Zeros { row });
    ///     }
    ///     row += 1;
    ///     Ok(())
    /// });
    /// assert_eq!(result, Err(Problem::Zeros { row: 1 }));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of the function, and of [`for_each_row`](Self::for_each_row), converted by `From`: to an
    /// [`Error`], a `PyErr` (feature `pyo3`), or a type of the caller.
    #[inline]
    pub fn try_for_each_row<E: From<Error>>(
        &self,
        mut f: impl FnMut(&[T]) -> Result<(), E>,
    ) -> Result<(), E> {
        let row = self.row_len();
        if row == 0 {
            return each_empty(self.shape(), || f(&[]));
        }
        match self.as_frozen_slice()? {
            Some(slice) => slice.chunks_exact(row).try_for_each(f),
            None => self.visit_units(Visit::RowMajor, row, |_, block| {
                block.chunks_exact(row).try_for_each(&mut f)
            }),
        }
    }

    /// Number of elements per row. It fits unless the tensor is empty.
    #[inline]
    pub(in crate::import) fn row_len(&self) -> usize {
        self.shape().last().map_or(1, |&dim| usize::try_from(dim).unwrap_or(usize::MAX))
    }
}

/// Calls a function once per row of a tensor whose rows are empty.
///
/// # Errors
///
/// The first error of the function, and [`Error::SizeOverflow`] for more rows than a `u32` counts, which
/// would take seconds or years.
#[cold]
pub(in crate::import) fn each_empty<E: From<Error>>(
    shape: &[i64],
    mut f: impl FnMut() -> Result<(), E>,
) -> Result<(), E> {
    let (_, outer) = shape.split_last().unwrap_or((&0, &[]));
    let rows = if outer.contains(&0) {
        Some(0)
    } else {
        outer.iter().try_fold(1_u32, |rows, &dim| rows.checked_mul(u32::try_from(dim).ok()?))
    };
    for _ in 0..rows.ok_or(Error::SizeOverflow)? {
        f()?;
    }
    Ok(())
}
