//! The methods for arrays of the newest version.

use ndarray::{ArrayD, ArrayViewD, ArrayViewMutD};

use crate::element::{AnyBits, Readable};
use crate::error::Error;
use crate::import::{Elements, Exclusive, Frozen};

impl<'a> Frozen<'a> {
    /// Borrows the elements as an `ndarray` view, zero-copy, in any layout.
    ///
    /// # Errors
    ///
    /// [`Error::NotOnHost`], [`Error::ElementMismatch`], [`Error::AxesMismatch`],
    /// [`Error::Misaligned`], [`Error::SizeOverflow`] if the product of the nonzero dimensions exceeds `isize::MAX`,
    /// and [`Error::StrideNotWhole`] if a stride is not a multiple of an element, as is
    /// possible for a pixel type.
    pub fn as_ndarray<T: AnyBits>(self) -> Result<ArrayViewD<'a, T>, Error> {
        self.try_into()
    }
}

impl Exclusive<'_> {
    /// Borrows the elements as a mutable `ndarray` view, zero-copy, in any layout.
    ///
    /// ```
    /// use dlpack_traits::{DLPackExport, Error};
    /// use ndarray::array;
    ///
    /// let mut tensor = array![[1.0, 2.0], [3.0, 4.0]].into_dlpack()?.import()?;
    /// tensor.exclusive()?.as_ndarray_mut::<f64>()?[[0, 1]] = 5.0;
    /// assert_eq!(tensor.elements::<f64>()?.to_vec()?, [1.0, 5.0, 3.0, 4.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`Frozen::as_ndarray`], and [`Error::Overlapping`] if axes interleave: `ndarray`
    /// takes them for overlapping ones.
    pub fn as_ndarray_mut<T: AnyBits>(&mut self) -> Result<ArrayViewMutD<'_, T>, Error> {
        self.try_into()
    }
}

impl<T: Readable> Elements<'_, T> {
    /// Copies all elements to an array in row-major order. Use it for memory that other owners
    /// may write, such as that of a NumPy array.
    ///
    /// ```
    /// use dlpack_traits::{DLPackExport, Error};
    /// use ndarray::array;
    ///
    /// let inverted = array![[1.0, 2.0], [3.0, 4.0]].reversed_axes();
    /// let tensor = inverted.clone().into_dlpack()?.import()?;
    /// assert_eq!(tensor.elements::<f64>()?.to_ndarray()?, inverted.into_dyn());
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`to_vec`](Self::to_vec), and [`Error::SizeOverflow`] if the product
    /// of the nonzero dimensions exceeds `isize::MAX`.
    pub fn to_ndarray(&self) -> Result<ArrayD<T>, Error> {
        self.try_into()
    }
}
