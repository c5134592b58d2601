//! An exported tensor: [`ManagedTensor`], and [`RawManaged`], which is one pointer.
//!
//! A `ManagedTensor` stores, beside the pointer, the access of the loan, which the constructor
//! writes. It cannot pass through C, where other code could have written it. So
//! `ManagedTensor::import` is safe and can return slices, and an import from a capsule
//! cannot.
//!
//! The type is generic over the C struct, so a legacy tensor has no methods for flags, and
//! neither struct pays for a branch.

use core::fmt;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;
use core::slice;

use crate::device::Device;
use crate::dtype::DataType;
use crate::ffi::{DLManagedTensorVersioned, DLTensor};
use crate::flags::Flags;
use crate::managed::Abi;
use crate::storage::Access;
use crate::stream_arg::ConsumerPlace;

/// A tensor with its owner, as the C struct that consumers take: the versioned one, or with
/// `A =` [`DLManagedTensor`](crate::ffi::DLManagedTensor) the legacy one.
///
/// Dropping it calls the deleter. [`into_raw`](Self::into_raw) returns the struct for a
/// consumer, which must call the deleter once.
///
/// ```
/// use dlpack_traits::{
///     DLPackExport, DataType, Describe, Description, DescriptionMut, Error, Flags, Storage,
/// };
///
/// struct Samples(Vec<f32>);
///
/// impl DLPackExport for Samples {
///     fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
///         out.shape(&[2, 2]).data(self.0.data())
///     }
///
///     fn describe_mut<'a>(&'a mut self, out: Describe<'a>) -> Result<DescriptionMut<'a>, Error> {
///         out.shape(&[2, 2]).data_mut(self.0.data_mut())
///     }
/// }
///
/// let tensor = Samples(vec![1.0; 4]).into_dlpack()?;
/// assert_eq!(tensor.dtype(), DataType::F32);
/// assert_eq!(tensor.strides(), [2, 1]);
/// assert_eq!(tensor.flags(), Flags::NONE); // a consumer may write
/// # Ok::<(), Error>(())
/// ```
pub struct ManagedTensor<A: Abi = DLManagedTensorVersioned> {
    owner: RawManaged<A>,
    /// Which other owners may access the elements. Known only while the struct has not left
    /// this crate: a struct that is received through C is not assumed to be one of this
    /// crate's.
    access: Access,
    /// The consumer that the memory was synchronized with.
    synchronized: ConsumerPlace,
}

impl<A: Abi> ManagedTensor<A> {
    /// Takes ownership of a finished struct.
    ///
    /// # Safety
    ///
    /// 1. `managed` points to a struct that this crate wrote and that no one else owns: its
    ///    arrays have `ndim` entries, and it is unchanged as long as the handle lives.
    /// 2. Its deleter may be called once, by any thread.
    /// 3. Until then, its elements are lent with the access `access`.
    /// 4. If the struct is versioned, the provenance of the pointer covers room after it
    ///    for the fields of the legacy struct, as in a [`Slot`](crate::Slot), which nothing
    ///    else uses.
    /// 5. Device memory was synchronized with a consumer in the place `synchronized`.
    #[inline]
    pub(crate) unsafe fn from_raw(
        managed: NonNull<A>,
        access: Access,
        synchronized: ConsumerPlace,
    ) -> Self {
        // SAFETY: guaranteed by our caller's 1, 2 and 4.
        Self { owner: unsafe { RawManaged::from_raw(managed) }, access, synchronized }
    }

    /// The consumer that device memory was synchronized with.
    #[inline]
    pub(crate) fn synchronized(&self) -> ConsumerPlace {
        self.synchronized
    }

    /// Which other owners may access the elements, and how.
    #[inline]
    pub(crate) fn access(&self) -> Access {
        self.access
    }

    /// Returns the C struct. Its new owner must call the deleter once; otherwise the memory
    /// leaks.
    #[must_use = "the tensor leaks unless its deleter is called"]
    #[inline]
    pub fn into_raw(self) -> *mut A {
        self.owner.into_raw().as_ptr()
    }

    /// The address of the struct, which this handle still owns. The caller may read the
    /// struct while the handle exists, and must not use it afterwards.
    #[inline]
    pub fn as_raw(&self) -> *mut A {
        self.owner.as_ptr()
    }

    #[inline]
    fn managed(&self) -> &A {
        self.owner.managed()
    }

    #[inline]
    fn raw(&self) -> &DLTensor {
        self.managed().tensor()
    }

    /// Shape: the size of each dimension, in elements.
    pub fn shape(&self) -> &[i64] {
        self.dims(self.raw().shape)
    }

    /// Strides, in elements.
    pub fn strides(&self) -> &[i64] {
        self.dims(self.raw().strides)
    }

    #[inline]
    fn dims(&self, first: *const i64) -> &[i64] {
        let ndim = usize::try_from(self.raw().ndim).unwrap_or(0);
        // SAFETY: by 1 of `from_raw` the array has `ndim` entries, which are alive and
        // unchanged while `self` is borrowed.
        unsafe { slice::from_raw_parts(first, ndim) }
    }

    /// Number of dimensions.
    pub fn ndim(&self) -> usize {
        self.shape().len()
    }

    /// Type of the elements.
    pub fn dtype(&self) -> DataType {
        self.raw().dtype.into()
    }

    /// Device of the memory.
    pub fn device(&self) -> Device {
        self.raw().device.into()
    }

    /// The flags; none in the legacy struct.
    pub fn flags(&self) -> Flags {
        self.managed().flags().map_or(Flags::NONE, |&flags| Flags::from_bits(flags))
    }

    /// Whether consumers must not write: READ_ONLY
    /// ([`DLPACK_FLAG_BITMASK_READ_ONLY`](crate::ffi::DLPACK_FLAG_BITMASK_READ_ONLY)) is
    /// set. It is always false for the legacy struct, which has no flags:
    /// [`into_dlpack_legacy`](crate::DLPackExport::into_dlpack_legacy) rejects read-only
    /// memory with [`Error::ReadOnlyLegacy`](crate::Error::ReadOnlyLegacy).
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use dlpack_traits::{DLPackExport, SharedBuffer};
    /// # #[cfg(feature = "derive")] {
    ///
    /// #[derive(DLPackExport)]
    /// struct Samples<S> {
    ///     data: S,
    ///     shape: [usize; 2],
    /// }
    ///
    /// let frozen = Samples { data: Arc::<[f32]>::from([1.0; 6]), shape: [2, 3] };
    /// assert!(frozen.to_dlpack()?.is_read_only()); // an `Arc` may have other owners
    /// let shared = Samples { data: SharedBuffer::from_slice(&[1.0_f32; 6])?, shape: [2, 3] };
    /// assert!(!shared.to_dlpack()?.is_read_only());
    /// # }
    /// # Ok::<(), dlpack_traits::Error>(())
    /// ```
    pub fn is_read_only(&self) -> bool {
        self.flags().contains(Flags::READ_ONLY)
    }

    /// Address of the first element; NULL if the tensor is empty. On a device without addresses,
    /// the handle.
    pub fn data_ptr(&self) -> *const u8 {
        self.raw().data.cast_const().cast()
    }
}

impl<A: Abi> From<ManagedTensor<A>> for RawManaged<A> {
    #[inline(always)]
    fn from(tensor: ManagedTensor<A>) -> Self {
        tensor.owner
    }
}

impl<A: Abi> fmt::Debug for ManagedTensor<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ManagedTensor")
            .field("dtype", &self.dtype())
            .field("device", &self.device())
            .field("shape", &self.shape())
            .field("strides", &self.strides())
            .field("flags", &self.flags())
            .field("data", &self.data_ptr())
            .finish()
    }
}

/// The handle that owns a struct of this crate and calls its deleter: a
/// [`ManagedTensor`] without the access with which its memory is lent.
///
/// It is one pointer, also as an `Option`, and is passed in a register, where a
/// `ManagedTensor` is passed through memory: reading it back right after the write takes
/// longer than all checks of an export.
pub struct RawManaged<A: Abi = DLManagedTensorVersioned> {
    managed: NonNull<A>,
}

// SAFETY: the standard allows any thread to call a deleter, and the owners that this crate
// puts into packets are `Send`. The other methods read plain data.
unsafe impl<A: Abi> Send for RawManaged<A> {}
// SAFETY: a shared handle only reads metadata, which no one writes while the handle exists,
// and copies the address of the elements.
unsafe impl<A: Abi> Sync for RawManaged<A> {}

impl<A: Abi> RawManaged<A> {
    /// # Safety
    ///
    /// 1., 2. and 4. of [`ManagedTensor::from_raw`](crate::ManagedTensor::from_raw).
    #[inline(always)]
    pub(crate) unsafe fn from_raw(managed: NonNull<A>) -> Self {
        Self { managed }
    }

    /// Gives the struct to a consumer, who has to call its deleter once.
    #[must_use = "the tensor leaks unless its deleter is called"]
    #[inline(always)]
    pub(crate) fn into_raw(self) -> NonNull<A> {
        ManuallyDrop::new(self).managed
    }

    /// The address of the struct, which this handle still owns.
    #[inline(always)]
    pub(crate) fn as_ptr(&self) -> *mut A {
        self.managed.as_ptr()
    }

    /// The struct.
    #[inline(always)]
    pub(crate) fn managed(&self) -> &A {
        // SAFETY: by 1 of `from_raw` the struct is valid, and does not change while `self`
        // is borrowed.
        unsafe { self.managed.as_ref() }
    }
}

impl<A: Abi> Drop for RawManaged<A> {
    /// Releases a tensor that was not given to a consumer.
    #[inline]
    fn drop(&mut self) {
        // SAFETY: 1. By 1 of `from_raw`. 2. By 2 of `from_raw` the deleter may be called once,
        // and after `drop` no one uses the struct.
        drop(unsafe { A::release_of(self.managed) });
    }
}

impl<A: Abi> fmt::Debug for RawManaged<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RawManaged")
    }
}
