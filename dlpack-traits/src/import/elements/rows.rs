//! Rows along the last dimension: [`Elements::for_each_row`].

use super::Elements;
use super::by_value::Visit;
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
