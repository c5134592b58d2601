//! New tensors in memory of this crate.

use super::Copied;
use crate::describe::Order;
use crate::dims::Dims;
use crate::dtype::DataType;
use crate::error::Error;
use crate::storage::AlignedBuf;
use crate::strides;

impl Copied {
    /// Allocates a tensor whose elements are zero, contiguous in row-major order.
    ///
    /// # Errors
    ///
    /// [`Error::NegativeDim`], [`Error::SizeOverflow`], [`Error::OutOfMemory`].
    pub(crate) fn zeroed(dtype: DataType, shape: &[i64]) -> Result<Self, Error> {
        let size = dtype.byte_size().ok_or(Error::UnsupportedDType { dtype })?;
        let numel = usize::try_from(strides::numel(shape)?).map_err(|_| Error::SizeOverflow)?;
        let block = AlignedBuf::zeroed(numel.checked_mul(size).ok_or(Error::SizeOverflow)?)?;
        let shape = Dims::filled(shape.len(), |dims| {
            dims.copy_from_slice(shape);
            Ok(())
        })?;
        Ok(Self { block, dtype, padded: false, shape, order: Order::RowMajor })
    }
}
