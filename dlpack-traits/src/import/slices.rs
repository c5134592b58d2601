//! Slices of imported memory: [`Frozen`], which nobody writes, and
//! [`Exclusive`], which nobody else has.

use core::slice;

use bytemuck::Pod;

use super::{Imported, Readable};
use crate::element::Element;
use crate::error::Error;
use crate::flags::Flags;
use crate::layout;

/// An imported tensor that nobody writes, by the word of whoever called
/// [`Imported::assume_frozen`].
#[derive(Clone, Copy, Debug)]
pub struct Frozen<'a> {
    tensor: &'a Imported,
}

/// An imported tensor that nobody else accesses, in a layout in which no two
/// indices name one element: [`Imported::exclusive`].
#[derive(Debug)]
pub struct Exclusive<'a> {
    tensor: &'a mut Imported,
}

impl Imported {
    /// The tensor with elements that can be borrowed.
    ///
    /// READ_ONLY does not mean this: it binds consumers, not the producer.
    ///
    /// # Safety
    ///
    /// 1. Nobody writes to the elements while the result, or a slice that came
    ///    from it, is alive.
    pub const unsafe fn assume_frozen(&self) -> Frozen<'_> {
        Frozen { tensor: self }
    }

    /// The tensor with elements that are ours alone, because the producer made
    /// a copy for us (IS_COPIED).
    ///
    /// # Errors
    ///
    /// [`Error::NotExclusive`] where it did not, [`Error::ReadOnly`],
    /// [`Error::Overlapping`].
    pub fn exclusive(&mut self) -> Result<Exclusive<'_>, Error> {
        if !self.flags().contains(Flags::IS_COPIED) {
            return Err(Error::NotExclusive);
        }
        // SAFETY: IS_COPIED is set. If READ_ONLY is too, there is no result.
        // Otherwise, by 5 of `from_raw`, nobody else accesses the elements.
        unsafe { self.assume_exclusive() }
    }

    /// The tensor with elements that are ours alone, by the caller's word.
    ///
    /// # Errors
    ///
    /// [`Error::ReadOnly`] and [`Error::Overlapping`], whatever the caller says.
    ///
    /// # Safety
    ///
    /// 1. Nobody else reads or writes the elements while the result, or a slice
    ///    that came from it, is alive.
    pub unsafe fn assume_exclusive(&mut self) -> Result<Exclusive<'_>, Error> {
        if self.is_read_only() {
            Err(Error::ReadOnly)
        } else if layout::may_overlap(self.shape(), self.strides()) {
            Err(Error::Overlapping)
        } else {
            Ok(Exclusive { tensor: self })
        }
    }

    /// Address and number of the elements, if they are a slice of `T`s.
    fn as_raw_slice<T: Element>(&self) -> Result<(*mut T, usize), Error> {
        let first = self.first_as::<T>()?.cast::<T>();
        if !self.is_row_major() {
            return Err(Error::NotCompact);
        }
        // All elements together have at most `isize::MAX` bytes.
        let len = usize::try_from(self.numel()).map_err(|_| Error::SizeOverflow)?;
        if len == 0 {
            Ok((core::ptr::dangling_mut(), 0))
        } else if first.is_aligned() {
            Ok((first, len))
        } else {
            Err(Error::Misaligned { dtype: T::DTYPE, align: align_of::<T>() })
        }
    }
}

impl<'a> Frozen<'a> {
    /// The elements in row-major order. A `bool` is checked.
    ///
    /// # Errors
    ///
    /// [`Error::NotOnHost`], [`Error::ElementMismatch`], [`Error::NotCompact`],
    /// [`Error::Misaligned`], [`Error::InvalidBits`].
    pub fn as_slice<T: Readable>(self) -> Result<&'a [T], Error> {
        let (first, len) = self.tensor.as_raw_slice::<T>()?;
        let byte_len = len.saturating_mul(size_of::<T>());
        // SAFETY: by 4 of `from_raw` there are as many initialised bytes, alive
        // as long as the handle, which is borrowed for `'a`. By 1 of
        // `assume_frozen` (or as they are ours alone) nobody writes to them.
        let bytes = unsafe { slice::from_raw_parts(first.cast::<u8>(), byte_len) };
        bytemuck::checked::try_cast_slice(bytes).map_err(|_| Error::InvalidBits { dtype: T::DTYPE })
    }

    /// The tensor itself.
    pub const fn tensor(self) -> &'a Imported {
        self.tensor
    }
}

impl<'a> Exclusive<'a> {
    /// The elements in row-major order, as long as they are not written.
    ///
    /// # Errors
    ///
    /// Those of [`Frozen::as_slice`].
    pub fn as_slice<T: Readable>(&self) -> Result<&[T], Error> {
        Frozen { tensor: self.tensor }.as_slice()
    }

    /// The elements in row-major order, to be written.
    ///
    /// # Errors
    ///
    /// [`Error::NotOnHost`], [`Error::ElementMismatch`], [`Error::NotCompact`],
    /// [`Error::Misaligned`].
    pub fn as_mut_slice<T: Element + Pod>(&mut self) -> Result<&mut [T], Error> {
        Exclusive { tensor: self.tensor }.into_mut_slice()
    }

    /// The elements in row-major order, for as long as the tensor is borrowed.
    ///
    /// # Errors
    ///
    /// Those of [`as_mut_slice`](Self::as_mut_slice).
    pub fn into_mut_slice<T: Element + Pod>(self) -> Result<&'a mut [T], Error> {
        let (first, len) = self.tensor.as_raw_slice::<T>()?;
        // SAFETY: the elements are aligned, any bits are a `T`, and by 4 of
        // `from_raw` they are initialised, writable (READ_ONLY is not set) and
        // alive as long as the handle, which is uniquely borrowed for `'a`.
        // By 1 of `assume_exclusive` nobody else accesses them.
        Ok(unsafe { slice::from_raw_parts_mut(first, len) })
    }

    /// The tensor itself.
    pub const fn tensor(&self) -> &Imported {
        self.tensor
    }
}
