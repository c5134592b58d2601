//! The elements of an imported tensor as an owned slice: [`OwnedSlice`].

use core::fmt;
use core::marker::PhantomData;
use core::ops::Deref;
use core::{ptr, slice};

use super::ImportedTensor;
use crate::element::{Element, Readable, RecordType, SizeMatches};
use crate::error::Error;
use crate::storage::{DataRef, Storage};

/// The elements of an imported tensor as an owned slice, in row-major order: it is
/// `Send + Sync + 'static`, and its drop calls the deleter.
///
/// Use it to give an import, zero-copy, to a crate that takes an owner of a slice:
/// `bytes::Bytes::from_owner`, and the buffers of arrow, polars, burn and image.
/// [`ImportedTensor::into_owned_slice`] makes one.
///
/// ```
/// use bytes::Bytes;
/// use dlpack_traits::{DLPackExport, OwnedTensor};
///
/// let tensor = OwnedTensor::from_vec(vec![1_u8, 2, 3]).into_dlpack()?.import()?;
/// let bytes = Bytes::from_owner(tensor.into_owned_slice::<u8>()?);
/// assert_eq!(bytes.slice(1..), [2, 3][..]);
/// # Ok::<(), dlpack_traits::Error>(())
/// ```
pub struct OwnedSlice<T> {
    /// Its elements are `len` aligned, valid `T`s in one piece, which no one writes until the
    /// deleter is called. It has no pointer beside it, so `Send` and `Sync` are derived.
    tensor: ImportedTensor,
    len: usize,
    elements: PhantomData<[T]>,
}

impl ImportedTensor {
    /// Converts the tensor into an owned slice of its elements, zero-copy, if no one writes
    /// them: this program exported the memory read-only ([`frozen`](Self::frozen)) or by
    /// value ([`exclusive`](Self::exclusive)), or it is a copy of this crate
    /// ([`to_own_copy`](Self::to_own_copy), `copy(true)` of an import from Python).
    ///
    /// For memory of another library, which its producer may write, make a copy first. The copy of
    /// a column-major tensor is column-major too, which this function rejects
    /// ([`Error::NotContiguous`]); [`Elements::to_vec`] copies any layout in row-major order.
    ///
    /// ```
    /// # use dlpack_traits::{DLPackExport, Error, ImportedTensor, OwnedTensor};
    /// # let pointer = OwnedTensor::from_vec(vec![1.5, 2.5]).into_dlpack()?.into_raw();
    /// # // SAFETY: 1. to 5. `into_raw` returned a valid struct, whose owner we are now.
    /// # let foreign = unsafe { ImportedTensor::from_raw(pointer)? };
    /// let copied = foreign.to_own_copy()?.into_owned_slice::<f64>()?;
    /// assert_eq!(*copied, [1.5, 2.5]);
    /// assert_eq!(foreign.into_owned_slice::<f64>().unwrap_err(), Error::NotFrozen);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// Or guarantee that no one writes it: [`assume_owned_slice`](Self::assume_owned_slice).
    ///
    /// [`Elements::to_vec`]: super::Elements::to_vec
    ///
    /// # Errors
    ///
    /// [`Error::NotFrozen`] for memory that others may write, and those of
    /// [`Frozen::as_slice`](super::Frozen::as_slice). The tensor is then dropped.
    #[inline]
    pub fn into_owned_slice<T: Readable>(mut self) -> Result<OwnedSlice<T>, Error> {
        // Memory that this crate lent by `&` has no writer; memory that it lent by `&mut` has
        // no other access, and the slice gives out no `&mut` to the tensor.
        let len = if self.is_alone() {
            self.exclusive()?.as_slice::<T>()?.len()
        } else {
            self.frozen()?.as_slice::<T>()?.len()
        };
        Ok(OwnedSlice { tensor: self, len, elements: PhantomData })
    }

    /// As [`into_owned_slice`](Self::into_owned_slice), for memory that others could write.
    /// The caller guarantees that they do not.
    ///
    /// NumPy, PyTorch and other libraries keep their own reference to the memory, and any
    /// of their users can write it at any time; READ_ONLY binds consumers, not the producer.
    /// So a program has to know all references: for example because it made the array itself
    /// and passed it to no other code.
    ///
    /// ```
    /// # use dlpack_traits::{DLPackExport, Error, ImportedTensor, OwnedTensor};
    /// # let pointer = OwnedTensor::from_vec(vec![1.5, 2.5]).into_dlpack()?.into_raw();
    /// # // SAFETY: 1. to 5. `into_raw` returned a valid struct, whose owner we are now.
    /// # let tensor = unsafe { ImportedTensor::from_raw(pointer)? };
    /// // SAFETY: 1. The producer moved a vector to the tensor: there is no other reference.
    /// let samples = unsafe { tensor.assume_owned_slice::<f64>()? };
    /// std::thread::spawn(move || assert_eq!(*samples, [1.5, 2.5])).join().unwrap();
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`Frozen::as_slice`](super::Frozen::as_slice). The tensor is then dropped.
    ///
    /// # Safety
    ///
    /// 1. No one writes to the elements until the result is dropped: neither the producer,
    ///    nor another consumer of the same memory, nor another process that maps it, on any
    ///    thread. The result can live as long as the program, wherever it is moved.
    #[inline]
    pub unsafe fn assume_owned_slice<T: Readable>(self) -> Result<OwnedSlice<T>, Error> {
        // SAFETY: 1. Guaranteed by our caller's 1.
        let len = unsafe { self.assume_frozen() }.as_slice::<T>()?.len();
        Ok(OwnedSlice { tensor: self, len, elements: PhantomData })
    }
}

impl<T> OwnedSlice<T> {
    /// The imported tensor, with its shape.
    #[inline]
    pub const fn tensor(&self) -> &ImportedTensor {
        &self.tensor
    }

    /// Converts the elements into their bytes, for a crate whose buffers own bytes, as those
    /// of arrow do.
    ///
    /// ```
    /// use bytes::Bytes;
    /// use dlpack_traits::{DLPackExport, OwnedTensor};
    ///
    /// let tensor = OwnedTensor::from_vec(vec![1_u16, 2]).into_dlpack()?.import()?;
    /// let bytes = Bytes::from_owner(tensor.into_owned_slice::<u16>()?.into_bytes());
    /// assert_eq!(bytes.len(), 4);
    /// # Ok::<(), dlpack_traits::Error>(())
    /// ```
    #[inline]
    pub fn into_bytes(self) -> OwnedSlice<u8>
    where
        T: Element,
    {
        let () = SizeMatches::<T>::OK;
        // An element has no padding, so all of its bytes are initialized.
        let len = size_of_val(&*self);
        OwnedSlice { tensor: self.tensor, len, elements: PhantomData }
    }

    /// Returns the imported tensor.
    #[inline]
    pub fn into_tensor(self) -> ImportedTensor {
        self.tensor
    }
}

impl<T> Deref for OwnedSlice<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // The address of an empty tensor is NULL.
        let first = if self.len == 0 { ptr::dangling() } else { self.tensor.data_ptr().cast() };
        // SAFETY: by the invariant of `tensor` there are `len` aligned, valid elements, which no
        // one writes until the deleter is called, and by 4 of `ImportedTensor::from_raw` they
        // are alive until then. `tensor` calls the deleter when it is dropped.
        unsafe { slice::from_raw_parts(first, self.len) }
    }
}

impl<T> AsRef<[T]> for OwnedSlice<T> {
    #[inline]
    fn as_ref(&self) -> &[T] {
        self
    }
}

/// The slice can be exported again, read-only.
impl<T: Element> Storage for OwnedSlice<T> {
    #[inline]
    fn data(&self) -> DataRef<'_> {
        DataRef::from_slice(self)
    }

    #[inline]
    fn record_type(&self) -> Option<&'static RecordType> {
        T::RECORD
    }
}

impl<T: fmt::Debug> fmt::Debug for OwnedSlice<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OwnedSlice").field(&&**self).finish()
    }
}
