//! A managed tensor as one pointer: [`RawManaged`].

use core::fmt;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;

use crate::ffi::DLManagedTensorVersioned;
use crate::managed::{Abi, ManagedTensor};

/// A [`ManagedTensor`] without the access with which its memory is lent.
///
/// It is one pointer, also as an `Option`, and is passed in a register, where a
/// `ManagedTensor` is passed through memory: reading it back right after the write takes
/// longer than all checks of an export.
pub struct RawManaged<A: Abi = DLManagedTensorVersioned> {
    managed: NonNull<A>,
}

// SAFETY: as for `ManagedTensor`, which this is without two of its fields.
unsafe impl<A: Abi> Send for RawManaged<A> {}

impl<A: Abi> RawManaged<A> {
    /// # Safety
    ///
    /// 1., 2. and 4. of [`ManagedTensor::from_raw`].
    #[inline(always)]
    pub(super) unsafe fn from_raw(managed: NonNull<A>) -> Self {
        Self { managed }
    }

    /// Gives the struct to a consumer, who has to call its deleter once.
    #[must_use = "the tensor leaks unless its deleter is called"]
    #[inline(always)]
    pub(crate) fn into_raw(self) -> NonNull<A> {
        ManuallyDrop::new(self).managed
    }

    /// The struct.
    #[inline(always)]
    pub(crate) fn managed(&self) -> &A {
        // SAFETY: by 1 of `from_raw` the struct is valid, and does not change while `self`
        // is borrowed.
        unsafe { self.managed.as_ref() }
    }
}

impl<A: Abi> From<ManagedTensor<A>> for RawManaged<A> {
    #[inline(always)]
    fn from(tensor: ManagedTensor<A>) -> Self {
        Self { managed: tensor.into_non_null() }
    }
}

impl<A: Abi> Drop for RawManaged<A> {
    /// Releases a tensor that was not given to a consumer.
    #[cold]
    fn drop(&mut self) {
        if let Some(deleter) = self.managed().deleter() {
            // SAFETY: by 2 of `from_raw` the deleter may be called once, and after `drop`
            // no one uses the struct.
            unsafe { deleter(self.managed.as_ptr()) }
        }
    }
}

impl<A: Abi> fmt::Debug for RawManaged<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RawManaged")
    }
}
