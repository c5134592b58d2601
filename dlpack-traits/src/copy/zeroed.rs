//! New elements in memory of this crate: [`Zeroed`].

use core::marker::PhantomData;
use core::slice;

use super::Copied;
use crate::dtype::DataType;
use crate::element::{Element, Readable, SizeMatches};
use crate::error::Error;
use crate::storage::{ALIGNMENT, AlignedBuf};
use crate::strides;

/// New elements of a tensor, contiguous in row-major order and aligned to 64 bytes: valid `T`s,
/// which only their owner accesses.
pub(crate) struct Zeroed<T> {
    block: AlignedBuf,
    elements: PhantomData<T>,
}

impl<T: Readable> Zeroed<T> {
    /// Allocates elements of the type `dtype`, each of which Rust accesses as a `T`, whose axes are
    /// the last axes of the tensor.
    ///
    /// # Errors
    ///
    /// [`Error::NegativeDim`], [`Error::SizeOverflow`], [`Error::OutOfMemory`];
    /// [`Error::InvalidBits`] if zero is not a value of `T`.
    pub(crate) fn new(dtype: DataType, shape: &[i64]) -> Result<Self, Error> {
        const { assert!(align_of::<T>() <= ALIGNMENT, "the memory is aligned to 64 bytes") };
        let () = SizeMatches::<T>::OK;
        let numel = usize::try_from(strides::numel(shape)?).map_err(|_| Error::SizeOverflow)?;
        let byte_len = numel.checked_mul(size_of::<T>()).ok_or(Error::SizeOverflow)?;
        let block = AlignedBuf::filled(byte_len, |bytes| {
            let first = bytes.get(..size_of::<T>()).unwrap_or_default();
            if T::are_valid(first) { Ok(()) } else { Err(Error::InvalidBits { dtype }) }
        })?;
        Ok(Self { block, elements: PhantomData })
    }
}

impl<T: Element> Zeroed<T> {
    /// The elements, in row-major order.
    pub(crate) fn as_slice(&self) -> &[T] {
        let (first, len) = self.parts();
        // SAFETY: the block owns that many valid `T`s, aligned to 64 bytes, and is borrowed.
        unsafe { slice::from_raw_parts(first, len) }
    }

    /// The elements, in row-major order, for writing.
    pub(crate) fn as_mut_slice(&mut self) -> &mut [T] {
        let (first, len) = self.parts();
        // SAFETY: the block owns that many valid `T`s, aligned to 64 bytes, and is borrowed uniquely.
        unsafe { slice::from_raw_parts_mut(first, len) }
    }

    /// The first element and their number.
    fn parts(&self) -> (*mut T, usize) {
        let block = &self.block;
        (block.as_ptr().cast(), block.byte_len().checked_div(size_of::<T>()).unwrap_or(0))
    }

    /// The tensor of this shape, without its element type.
    ///
    /// # Errors
    ///
    /// Those of [`Copied::moved`].
    pub(crate) fn into_copied(self, dtype: DataType, shape: &[i64]) -> Result<Copied, Error> {
        Copied::moved::<T>(self.block, dtype, shape)
    }
}
