//! Slices of imported memory: [`Frozen`], which nobody writes, and
//! [`Exclusive`], which nobody else has.

use core::iter::FusedIterator;
use core::slice;

use super::Imported;
use super::typed::Positions;
use crate::element::{AnyBits, Readable};
use crate::error::Error;
use crate::layout;
use crate::storage::Access;

/// An imported tensor that nobody writes: [`Imported::frozen`].
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
    /// The tensor with elements that can be borrowed, because this program
    /// exported them for reading: from an `Arc<[T]>`, for one.
    ///
    /// # Errors
    ///
    /// [`Error::NotFrozen`] of any other tensor, also of one that this program
    /// exported and that went through C or Python.
    #[inline]
    pub fn frozen(&self) -> Result<Frozen<'_>, Error> {
        match self.access() {
            // Consumers are told READ_ONLY, and are trusted to obey: the `Arc`
            // next to this tensor is a `&[T]` too.
            Access::Frozen => Ok(Frozen { tensor: self }),
            _ => Err(Error::NotFrozen),
        }
    }

    /// The tensor with elements that can be borrowed, by the caller's word.
    ///
    /// READ_ONLY does not mean this: it binds consumers, not the producer.
    ///
    /// # Safety
    ///
    /// 1. Nobody writes to the elements while the result, or a slice that came
    ///    from it, is alive.
    #[inline]
    pub const unsafe fn assume_frozen(&self) -> Frozen<'_> {
        Frozen { tensor: self }
    }

    /// The tensor with elements that are ours alone, because this program exported them
    /// so, from a `Vec<T>` by value for one, or made the copy
    /// ([`to_own_copy`](Self::to_own_copy), or `copy(true)` of an import from Python).
    ///
    /// The flag IS_COPIED of another library is not enough. It says that a copy was made
    /// for this consumer, not that nothing else has a reference to it: NumPy makes the
    /// copy of a subclass of `ndarray` as an object of the subclass, which can keep it. A
    /// caller that relies on a producer's copy calls
    /// [`assume_exclusive`](Self::assume_exclusive).
    ///
    /// # Errors
    ///
    /// [`Error::NotExclusive`] where that is not known, [`Error::ReadOnly`],
    /// [`Error::Overlapping`].
    #[inline]
    pub fn exclusive(&mut self) -> Result<Exclusive<'_>, Error> {
        if !self.is_alone() {
            return Err(Error::NotExclusive);
        }
        // SAFETY: 1. This crate lent them from a `&mut`, and the tensor has not left it.
        // Owners of one tensor in common (`Foreign`) lend it for sharing, but give out a
        // `&mut` to it only when one of them is left.
        unsafe { self.assume_exclusive() }
    }

    /// The tensor with elements that are ours alone, by the caller's word.
    ///
    /// # Errors
    ///
    /// [`Error::ReadOnly`] and [`Error::Overlapping`], whatever the caller says. Of a
    /// legacy struct that is written by the caller's word, the import has to say so too:
    /// [`ImportPolicy::legacy_writable`](crate::ImportPolicy::legacy_writable).
    ///
    /// # Safety
    ///
    /// 1. Nobody else reads or writes the elements while the result, or a slice
    ///    that came from it, is alive.
    #[inline]
    pub unsafe fn assume_exclusive(&mut self) -> Result<Exclusive<'_>, Error> {
        if self.is_read_only() {
            Err(Error::ReadOnly)
        } else if layout::may_overlap(self.shape(), self.strides()) {
            Err(Error::Overlapping)
        } else {
            Ok(Exclusive { tensor: self })
        }
    }
}

impl<'a> Frozen<'a> {
    /// The elements in row-major order. They are checked where not every pattern of bits
    /// is a value: `bool`, for one.
    ///
    /// # Errors
    ///
    /// [`Error::NotOnHost`], [`Error::ElementMismatch`], [`Error::NotCompact`],
    /// [`Error::Misaligned`], [`Error::InvalidBits`].
    #[inline]
    pub fn as_slice<T: Readable>(self) -> Result<&'a [T], Error> {
        let (first, len) = self.tensor.typed::<T>()?.as_raw_slice::<T>()?;
        let byte_len = len.saturating_mul(size_of::<T>());
        // SAFETY: by 4 of `from_raw` there are as many initialised bytes, alive
        // as long as the handle, which is borrowed for `'a`. By 1 of
        // `assume_frozen` (or as they are ours alone) nobody writes to them.
        let bytes = unsafe { slice::from_raw_parts(first.cast::<u8>(), byte_len) };
        if !T::are_valid(bytes) {
            return Err(Error::InvalidBits { dtype: T::DTYPE });
        }
        // SAFETY: `as_raw_slice` found that many aligned elements. They are the bytes above,
        // which by 1 of `Readable` are valid values.
        Ok(unsafe { slice::from_raw_parts(first, len) })
    }

    /// The elements in row-major order of their indices, in any layout.
    ///
    /// # Errors
    ///
    /// [`Error::NotOnHost`], [`Error::ElementMismatch`], [`Error::AxesMismatch`],
    /// [`Error::Misaligned`].
    #[inline]
    pub fn elements<T: AnyBits>(
        self,
    ) -> Result<impl ExactSizeIterator<Item = &'a T> + FusedIterator, Error> {
        let typed = self.tensor.typed_any_bits::<T>()?;
        let first = typed.as_aligned::<T>()?.cast::<u8>();
        Ok(Positions::of(typed).map(move |position| {
            // SAFETY: there is an element of the same allocation, by 4 of `from_raw`.
            let element = unsafe { first.offset(position) };
            // SAFETY: it is aligned, any bits are a `T`, and by 4 of `from_raw` it
            // is initialised and alive as long as the handle, which is borrowed
            // for `'a`. By 1 of `assume_frozen` (or as they are ours alone) nobody
            // writes to it.
            unsafe { &*element.cast::<T>() }
        }))
    }

    /// The bytes of a compact tensor with elements of any type, packed ones too.
    ///
    /// # Errors
    ///
    /// [`Error::NotOnHost`], [`Error::NotCompact`].
    #[inline]
    pub fn as_bytes(self) -> Result<&'a [u8], Error> {
        self.tensor.on_host()?;
        if !self.tensor.is_row_major() {
            return Err(Error::NotCompact);
        }
        let len = self.tensor.byte_range().end.unsigned_abs();
        let first = self.tensor.as_ptr();
        let first = if len == 0 { core::ptr::dangling() } else { first };
        // SAFETY: by 4 of `from_raw` there are as many initialised bytes from
        // the first element of a compact tensor on, alive as long as the
        // handle, which is borrowed for `'a`. By 1 of `assume_frozen` (or as they
        // are ours alone) nobody writes to them.
        Ok(unsafe { slice::from_raw_parts(first, len) })
    }

    /// The tensor itself.
    #[inline]
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
    #[inline]
    pub fn as_slice<T: Readable>(&self) -> Result<&[T], Error> {
        self.as_frozen().as_slice()
    }

    /// The tensor with elements that can be borrowed, as long as they are not
    /// written.
    #[inline]
    pub const fn as_frozen(&self) -> Frozen<'_> {
        Frozen { tensor: self.tensor }
    }

    /// The elements in row-major order, to be written.
    ///
    /// # Errors
    ///
    /// [`Error::NotOnHost`], [`Error::ElementMismatch`], [`Error::NotCompact`],
    /// [`Error::Misaligned`].
    #[inline]
    pub fn as_mut_slice<T: AnyBits>(&mut self) -> Result<&mut [T], Error> {
        Exclusive { tensor: self.tensor }.into_mut_slice()
    }

    /// The elements in row-major order, for as long as the tensor is borrowed.
    ///
    /// # Errors
    ///
    /// Those of [`as_mut_slice`](Self::as_mut_slice).
    #[inline]
    pub fn into_mut_slice<T: AnyBits>(self) -> Result<&'a mut [T], Error> {
        let (first, len) = self.tensor.typed_any_bits::<T>()?.as_raw_slice::<T>()?;
        // SAFETY: the elements are aligned, any bits are a `T`, and by 4 of
        // `from_raw` they are initialised, writable (READ_ONLY is not set) and
        // alive as long as the handle, which is uniquely borrowed for `'a`.
        // By 1 of `assume_exclusive` nobody else accesses them.
        Ok(unsafe { slice::from_raw_parts_mut(first, len) })
    }

    /// Writes one element, in any layout and at any address.
    ///
    /// # Errors
    ///
    /// [`Error::NotOnHost`], [`Error::ElementMismatch`], [`Error::AxesMismatch`],
    /// and [`Error::NoSuchElement`] if the index has not one entry per dimension,
    /// or one that is outside.
    #[inline]
    pub fn store<T: AnyBits>(&mut self, index: &[usize], value: T) -> Result<(), Error> {
        let typed = self.tensor.typed_any_bits::<T>()?;
        let position = typed.position(index)?;
        // SAFETY: by 4 of `from_raw` an element of the same allocation is there.
        let element = unsafe { typed.first.offset(position) };
        // SAFETY: by 4 of `from_raw` it may be written (READ_ONLY is not set), and
        // by 1 of `assume_exclusive` nobody else accesses it.
        unsafe { element.cast::<T>().write_unaligned(value) };
        Ok(())
    }

    /// The elements in row-major order of their indices, to be written, in any layout.
    ///
    /// # Errors
    ///
    /// [`Error::NotOnHost`], [`Error::ElementMismatch`], [`Error::AxesMismatch`],
    /// [`Error::Misaligned`].
    #[inline]
    pub fn elements_mut<T: AnyBits>(
        &mut self,
    ) -> Result<impl ExactSizeIterator<Item = &mut T> + FusedIterator, Error> {
        let typed = self.tensor.typed_any_bits::<T>()?;
        let first = typed.as_aligned::<T>()?.cast::<u8>();
        Ok(Positions::of(typed).map(move |position| {
            // SAFETY: there is an element of the same allocation, by 4 of `from_raw`.
            let element = unsafe { first.offset(position) };
            // SAFETY: it is aligned, any bits are a `T`, and by 4 of `from_raw` it
            // is initialised, writable and alive as long as the handle, which is
            // uniquely borrowed. By 1 of `assume_exclusive` nobody else accesses
            // it, and no other position names it: `assume_exclusive` refused
            // layouts that overlap, and each position is visited once.
            unsafe { &mut *element.cast::<T>() }
        }))
    }

    /// The tensor itself.
    #[inline]
    pub const fn tensor(&self) -> &Imported {
        self.tensor
    }
}
