//! Rows along the last dimension: [`Elements::for_each_row`].

use super::Elements;
use super::elements::Visit;
use crate::element::Readable;
use crate::error::Error;

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
    /// The function returns nothing. To stop at an error of its own, keep the error in a variable, and
    /// ignore the rows after it.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidBits`]: the function has been called with at most the rows before
    /// the invalid element. [`Error::OutOfMemory`] if memory for a row that is
    /// larger than a block cannot be allocated. [`Error::SizeOverflow`] for more than 2^32 - 1 rows
    /// without elements: a tensor needs no memory for them.
    #[inline]
    pub fn for_each_row(&self, mut f: impl FnMut(&[T])) -> Result<(), Error> {
        let row = self.row_len();
        if row == 0 {
            return each_empty(self.shape(), || f(&[]));
        }
        match self.as_frozen_slice()? {
            Some(slice) => slice.chunks_exact(row).for_each(f),
            None => self.visit_units(Visit::RowMajor, row, |_, block| {
                block.chunks_exact(row).for_each(&mut f);
            })?,
        }
        Ok(())
    }

    /// Number of elements per row. It fits unless the tensor is empty.
    #[inline]
    pub(super) fn row_len(&self) -> usize {
        self.shape().last().map_or(1, |&dim| usize::try_from(dim).unwrap_or(usize::MAX))
    }
}

/// Calls a function once per row of a tensor whose rows are empty.
///
/// # Errors
///
/// [`Error::SizeOverflow`] for more rows than a `u32` counts, which would take seconds or years.
#[cold]
pub(super) fn each_empty(shape: &[i64], mut f: impl FnMut()) -> Result<(), Error> {
    let (_, outer) = shape.split_last().unwrap_or((&0, &[]));
    let rows = if outer.contains(&0) {
        Some(0)
    } else {
        outer.iter().try_fold(1_u32, |rows, &dim| rows.checked_mul(u32::try_from(dim).ok()?))
    };
    for _ in 0..rows.ok_or(Error::SizeOverflow)? {
        f();
    }
    Ok(())
}
