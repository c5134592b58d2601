//! New tensors in memory of this crate.

use core::slice;

use super::Copied;
use crate::describe::Order;
use crate::dims::Dims;
use crate::dtype::DataType;
use crate::element::{AnyBits, BitsAreValid};
use crate::error::Error;
use crate::storage::{ALIGNMENT, AlignedBuf};
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

    /// The memory as elements of a type, as many as fit.
    pub(crate) fn as_mut_slice<T: AnyBits>(&mut self) -> &mut [T] {
        const { assert!(align_of::<T>() <= ALIGNMENT, "the memory is aligned to 64 bytes") };
        let () = BitsAreValid::<T>::OK;
        let len = self.block.byte_len().checked_div(size_of::<T>()).unwrap_or(0);
        // SAFETY: the block owns these bytes, which were initialized when it was made, and is
        // borrowed uniquely. They are aligned for a `T`, and by 4 of `Element` any bytes are one,
        // because `ANY_BITS` is true.
        unsafe { slice::from_raw_parts_mut(self.block.as_ptr().cast(), len) }
    }
}
