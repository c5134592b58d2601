//! The shape of an imported tensor in numbers of Rust, and compared with that of another one.

use super::{ImportError, ImportedTensor};

impl ImportedTensor {
    /// The size of each dimension as a `usize`, for fields, indices and allocations.
    ///
    /// A dimension beyond the address space, which only an empty tensor can have, is `usize::MAX`.
    ///
    /// ```
    /// use dlpack_traits::{DLPackExport, OwnedTensor};
    ///
    /// let tensor = OwnedTensor::new(vec![0.0_f32; 6], &[2, 3])?.into_dlpack()?.import()?;
    /// let shape: Vec<usize> = tensor.shape_usize().collect();
    /// assert_eq!(shape, [2, 3]);
    /// # Ok::<(), dlpack_traits::Error>(())
    /// ```
    #[inline]
    pub fn shape_usize(
        &self,
    ) -> impl ExactSizeIterator<Item = usize> + DoubleEndedIterator + Clone {
        self.shape().iter().map(|&dim| usize::try_from(dim).unwrap_or(usize::MAX))
    }

    /// Checks that two tensors, such as two arguments that are read together, have the same shape.
    /// Nothing is broadcast.
    ///
    /// ```
    /// use dlpack_traits::{DLPackExport, ImportError, ImportedTensor, OwnedTensor};
    ///
    /// fn dot(x: &ImportedTensor, y: &ImportedTensor) -> Result<f32, ImportError> {
    ///     x.same_shape(y)?;
    ///     let (x, y) = (x.elements::<f32>()?, y.elements::<f32>()?);
    ///     Ok(x.iter().zip(y.iter()).map(|(x, y)| x * y).sum())
    /// }
    ///
    /// let ones = |shape| OwnedTensor::new(vec![1.0_f32; 6], shape)?.into_dlpack()?.import();
    /// assert_eq!(dot(&ones(&[2, 3])?, &ones(&[2, 3])?), Ok(6.0));
    /// let error = dot(&ones(&[2, 3])?, &ones(&[3, 2])?).unwrap_err();
    /// assert_eq!(error.to_string(), "expected two tensors of one shape, got [2, 3] and [3, 2]");
    /// # Ok::<(), dlpack_traits::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ImportError::Rejected`], in Python a `ValueError`, with both shapes.
    pub fn same_shape(&self, other: &Self) -> Result<(), ImportError> {
        let (this, other) = (self.shape(), other.shape());
        if this == other {
            return Ok(());
        }
        Err(ImportError::rejected(format_args!(
            "expected two tensors of one shape, got {this:?} and {other:?}"
        )))
    }
}
