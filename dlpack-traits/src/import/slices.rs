//! Slices of imported memory: [`Frozen`], for memory that no one writes, and [`Exclusive`],
//! for memory that no one else accesses.
//!
//! `frozen()`, `exclusive()` and `assume_frozen()` borrow the handle instead of consuming
//! it, so an error does not have to return the handle.

use core::iter::FusedIterator;
use core::slice;

use super::ImportedTensor;
use crate::element::{AnyBits, Readable};
use crate::error::Error;
use crate::storage::Access;
use crate::strides;

/// Read access to an imported tensor as `&[T]`, made by [`ImportedTensor::frozen`].
#[derive(Clone, Copy, Debug)]
pub struct Frozen<'a> {
    tensor: &'a ImportedTensor,
}

/// Read and write access to an imported tensor as `&mut [T]`, made by
/// [`ImportedTensor::exclusive`]. No two indices refer to the same element.
#[derive(Debug)]
pub struct Exclusive<'a> {
    tensor: &'a mut ImportedTensor,
}

impl ImportedTensor {
    /// Grants access as `&[T]` to a tensor that this program exported read-only and that no owner
    /// writes, for example from an `Arc<[T]>`.
    ///
    /// # Errors
    ///
    /// [`Error::NotFrozen`] for every other tensor, including a read-only one of a
    /// [`SharedBuffer`](crate::SharedBuffer), and one that this program exported and that passed
    /// through C or Python.
    #[inline]
    pub fn frozen(&self) -> Result<Frozen<'_>, Error> {
        match self.access() {
            // Consumers receive READ_ONLY, and are trusted to obey: the program can hold a
            // `&[T]` of the same `Arc`.
            Access::Frozen => Ok(Frozen { tensor: self }),
            _ => Err(Error::NotFrozen),
        }
    }

    /// Grants access as `&[T]`. The caller guarantees that no one writes.
    ///
    /// READ_ONLY does not guarantee this: it binds consumers, not the producer.
    ///
    /// Use it for a slice of foreign memory if the program ensures that no one writes it, for
    /// example by joining all threads that could. [`elements`](Self::elements) needs no such
    /// promise.
    ///
    /// ```
    /// # use dlpack_traits::{DLPackExport, Describe, Description, Error, ImportedTensor, Storage};
    /// # struct Samples(Vec<f32>);
    /// # impl DLPackExport for Samples {
    /// #     fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
    /// #         out.shape(&[2]).data(self.0.data())
    /// #     }
    /// # }
    /// # let pointer = Samples(vec![1.5, 2.5]).into_dlpack()?.into_raw();
    /// # // SAFETY: 1. to 5. `into_raw` returned a valid struct, whose owner we are now.
    /// # let tensor = unsafe { ImportedTensor::from_raw(pointer)? };
    /// // SAFETY: 1. The producer does not write the elements while `samples` is used.
    /// let samples = unsafe { tensor.assume_frozen() }.as_slice::<f32>()?;
    /// assert_eq!(samples, [1.5, 2.5]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Safety
    ///
    /// 1. No one writes to the elements while the result, or a slice that was made from it,
    ///    is alive.
    #[inline]
    pub const unsafe fn assume_frozen(&self) -> Frozen<'_> {
        Frozen { tensor: self }
    }

    /// Grants access as `&mut [T]` to a tensor whose memory nothing else refers to: one that this
    /// program exported by value, for example from a `Vec<T>`, or a copy that it made in CPU memory
    /// ([`to_own_copy`](Self::to_own_copy), or from Python
    /// `python::from_dlpack_with(x, &ImportOptions::new().copy(true))?`).
    ///
    /// The flag IS_COPIED of another library is not enough. It says that a copy was made
    /// for this consumer, not that nothing else has a reference to it: NumPy makes the copy
    /// of a subclass of `ndarray` as an object of that subclass, which can keep a
    /// reference. A caller that relies on a producer's copy calls
    /// [`assume_exclusive`](Self::assume_exclusive).
    ///
    /// # Errors
    ///
    /// [`Error::NotExclusive`] if other references may exist, [`Error::ReadOnly`],
    /// [`Error::Overlapping`].
    #[inline]
    pub fn exclusive(&mut self) -> Result<Exclusive<'_>, Error> {
        if !self.is_alone() {
            return Err(Error::NotExclusive);
        }
        // SAFETY: 1. This crate lent the elements from a `&mut`, and the tensor has not
        // left this crate. `ImportedStorage`s that own one tensor together share it, and give out a
        // `&mut` to it only when a single owner is left.
        unsafe { self.assume_exclusive() }
    }

    /// Grants access as `&mut [T]`. The caller guarantees that no one else accesses the
    /// elements.
    ///
    /// Use it for a mutable slice of foreign memory if the program ensures that no other owner
    /// uses it. [`elements_mut`](Self::elements_mut) needs no such promise, and its
    /// `map_in_place` takes as long if the tensor is contiguous.
    ///
    /// ```
    /// # use dlpack_traits::{DLPackExport, Describe, Description, DescriptionMut, Error};
    /// # use dlpack_traits::{ImportedTensor, Storage};
    /// # struct Samples(Vec<f32>);
    /// # impl DLPackExport for Samples {
    /// #     fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
    /// #         out.shape(&[2]).data(self.0.data())
    /// #     }
    /// #     fn describe_mut<'a>(
    /// #         &'a mut self,
    /// #         out: Describe<'a>,
    /// #     ) -> Result<DescriptionMut<'a>, Error> {
    /// #         out.shape(&[2]).data_mut(self.0.data_mut())
    /// #     }
    /// # }
    /// # let pointer = Samples(vec![1.5, 2.5]).into_dlpack()?.into_raw();
    /// # // SAFETY: 1. to 5. `into_raw` returned a valid struct, whose owner we are now.
    /// # let mut tensor = unsafe { ImportedTensor::from_raw(pointer)? };
    /// // SAFETY: 1. No one else accesses the elements while `exclusive` is used.
    /// let mut exclusive = unsafe { tensor.assume_exclusive() }?;
    /// exclusive.as_mut_slice::<f32>()?.fill(0.5);
    /// assert_eq!(tensor.elements::<f32>()?.to_vec()?, [0.5, 0.5]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::ReadOnly`] and [`Error::Overlapping`], whatever the caller guarantees. A
    /// legacy struct is writable only if the import allowed it:
    /// [`ImportPolicy::legacy_writable`](crate::ImportPolicy::legacy_writable).
    ///
    /// # Safety
    ///
    /// 1. No one else reads or writes the elements while the result, or a slice that was
    ///    made from it, is alive.
    #[inline]
    pub unsafe fn assume_exclusive(&mut self) -> Result<Exclusive<'_>, Error> {
        self.check_writable()?;
        Ok(Exclusive { tensor: self })
    }

    /// Checks that the elements may be written, and that no two indices name the same one.
    ///
    /// # Errors
    ///
    /// [`Error::ReadOnly`], [`Error::Overlapping`].
    #[inline]
    pub(crate) fn check_writable(&self) -> Result<(), Error> {
        if self.is_read_only() {
            Err(Error::ReadOnly)
        } else if strides::may_overlap(self.shape(), self.strides()) {
            Err(Error::Overlapping)
        } else {
            Ok(())
        }
    }
}

impl<'a> Frozen<'a> {
    /// Borrows the elements as a slice, in row-major order. They are validated if the type
    /// has invalid bit patterns, as `bool` has.
    ///
    /// # Errors
    ///
    /// [`Error::NotOnHost`], [`Error::NoBackend`] for pinned memory that was exported for a stream,
    /// [`Error::ElementMismatch`], [`Error::AxesMismatch`] for elements that are arrays,
    /// [`Error::NotContiguous`], [`Error::Misaligned`], [`Error::InvalidBits`].
    #[inline]
    pub fn as_slice<T: Readable>(self) -> Result<&'a [T], Error> {
        // SAFETY: 1. By 4 of `from_raw` the elements are initialized, and alive as long as the
        // handle, which is borrowed for `'a`. By 1 of `assume_frozen` (or because no one else
        // accesses them) no one writes them.
        unsafe { self.tensor.typed::<T>()?.as_slice() }
    }

    /// Borrows each element, in row-major order of the indices, in any layout.
    ///
    /// # Errors
    ///
    /// [`Error::NotOnHost`], [`Error::NoBackend`] for pinned memory that was exported for a stream,
    /// [`Error::ElementMismatch`], [`Error::AxesMismatch`], [`Error::Misaligned`].
    #[inline]
    pub fn elements<T: AnyBits>(
        self,
    ) -> Result<impl ExactSizeIterator<Item = &'a T> + FusedIterator, Error> {
        let typed = self.tensor.typed_any_bits::<T>()?;
        let first = typed.as_aligned::<T>()?.cast::<u8>();
        Ok(typed.positions::<T>().map(move |position| {
            let element = first.wrapping_offset(position);
            // SAFETY: by 4 of `from_raw` the offset leads to an element of the same
            // allocation. The element is aligned, any bits are a valid `T`, and by 4 of
            // `from_raw` it is initialized and alive as long as the handle, which is
            // borrowed for `'a`. By 1 of `assume_frozen` (or because no one else accesses
            // them) no one writes to it.
            unsafe { &*element.cast::<T>() }
        }))
    }

    /// Borrows the bytes of a contiguous row-major tensor, with elements of any type,
    /// packed ones included.
    ///
    /// # Errors
    ///
    /// [`Error::NotOnHost`], [`Error::NoBackend`] for pinned memory that was exported for a stream,
    /// [`Error::NotContiguous`].
    #[inline]
    pub fn as_bytes(self) -> Result<&'a [u8], Error> {
        self.tensor.on_host()?;
        if !self.tensor.is_row_major() {
            return Err(Error::NotContiguous);
        }
        let len = self.tensor.byte_range().end.unsigned_abs();
        let first = self.tensor.data_ptr();
        let first = if len == 0 { core::ptr::dangling() } else { first };
        // SAFETY: by 4 of `from_raw` there are `len` initialized bytes from the first
        // element of a contiguous tensor on, alive as long as the handle, which is borrowed
        // for `'a`. By 1 of `assume_frozen` (or because no one else accesses them) no one
        // writes to them.
        Ok(unsafe { slice::from_raw_parts(first, len) })
    }

    /// The imported tensor.
    #[inline]
    pub const fn tensor(self) -> &'a ImportedTensor {
        self.tensor
    }
}

impl<'a> Exclusive<'a> {
    /// Borrows the elements as a slice, in row-major order, for reading.
    ///
    /// # Errors
    ///
    /// Those of [`Frozen::as_slice`].
    #[inline]
    pub fn as_slice<T: Readable>(&self) -> Result<&[T], Error> {
        self.as_frozen().as_slice()
    }

    /// Grants access as `&[T]`, for as long as this is borrowed.
    #[inline]
    pub const fn as_frozen(&self) -> Frozen<'_> {
        Frozen { tensor: self.tensor }
    }

    /// Borrows the elements as a mutable slice, in row-major order.
    ///
    /// # Errors
    ///
    /// [`Error::NotOnHost`], [`Error::NoBackend`] for pinned memory that was exported for a stream,
    /// [`Error::ElementMismatch`], [`Error::NotContiguous`], [`Error::Misaligned`].
    #[inline]
    pub fn as_mut_slice<T: AnyBits>(&mut self) -> Result<&mut [T], Error> {
        Exclusive { tensor: self.tensor }.into_mut_slice()
    }

    /// Borrows the elements as a mutable slice, in row-major order, for as long as the
    /// tensor is borrowed.
    ///
    /// # Errors
    ///
    /// Those of [`as_mut_slice`](Self::as_mut_slice).
    #[inline]
    pub fn into_mut_slice<T: AnyBits>(self) -> Result<&'a mut [T], Error> {
        let (first, len) = self.tensor.typed_any_bits::<T>()?.as_raw_slice::<T>()?;
        // SAFETY: the elements are aligned, any bits are a valid `T`, and by 4 of
        // `from_raw` they are initialized, writable (READ_ONLY is not set) and alive as
        // long as the handle, which is uniquely borrowed for `'a`. By 1 of
        // `assume_exclusive` no one else accesses them.
        Ok(unsafe { slice::from_raw_parts_mut(first, len) })
    }

    /// Writes one element, in any layout and at any alignment.
    ///
    /// # Errors
    ///
    /// [`Error::NotOnHost`], [`Error::NoBackend`] for pinned memory that was exported for a stream,
    /// [`Error::ElementMismatch`], [`Error::AxesMismatch`], and [`Error::NoSuchElement`] if the index does not have one entry per dimension or if an
    /// entry is out of bounds.
    #[inline]
    pub fn store<T: AnyBits>(&mut self, index: &[usize], value: T) -> Result<(), Error> {
        let typed = self.tensor.typed_any_bits::<T>()?;
        let position = typed.position(index)?;
        let element = typed.first.wrapping_offset(position);
        // SAFETY: by 4 of `from_raw` the offset leads to an element of the same allocation,
        // which may be written (READ_ONLY is not set), and
        // by 1 of `assume_exclusive` no one else accesses it.
        unsafe { element.cast::<T>().write_unaligned(value) };
        Ok(())
    }

    /// Borrows each element mutably, in row-major order of the indices, in any layout.
    ///
    /// # Errors
    ///
    /// [`Error::NotOnHost`], [`Error::NoBackend`] for pinned memory that was exported for a stream,
    /// [`Error::ElementMismatch`], [`Error::AxesMismatch`], [`Error::Misaligned`].
    #[inline]
    pub fn elements_mut<T: AnyBits>(
        &mut self,
    ) -> Result<impl ExactSizeIterator<Item = &mut T> + FusedIterator, Error> {
        let typed = self.tensor.typed_any_bits::<T>()?;
        let first = typed.as_aligned::<T>()?.cast::<u8>();
        Ok(typed.positions::<T>().map(move |position| {
            let element = first.wrapping_offset(position);
            // SAFETY: by 4 of `from_raw` the offset leads to an element of the same
            // allocation. The element is aligned, any bits are a valid `T`, and by 4 of
            // `from_raw` it is initialized, writable and alive as long as the handle, which
            // is uniquely borrowed. By 1 of `assume_exclusive` no one else accesses it, and
            // no other position names it: `assume_exclusive` rejected layouts that overlap,
            // and each position is visited once.
            unsafe { &mut *element.cast::<T>() }
        }))
    }

    /// The imported tensor.
    #[inline]
    pub const fn tensor(&self) -> &ImportedTensor {
        self.tensor
    }
}
