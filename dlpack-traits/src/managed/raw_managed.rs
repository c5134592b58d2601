//! A managed tensor as one pointer: [`RawManaged`].

use core::fmt;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;

use crate::ffi::DLManagedTensorVersioned;
use crate::managed::Abi;

/// The handle that owns a struct of this crate and calls its deleter: a
/// [`ManagedTensor`](crate::ManagedTensor) without the access with which its memory is lent.
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
        let deleter = self.managed().deleter();
        // SAFETY: 1. By 2 of `from_raw` the deleter may be called once, and after `drop` no
        // one uses the struct.
        drop(unsafe { A::release_by(self.managed, deleter) });
    }
}

impl<A: Abi> fmt::Debug for RawManaged<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RawManaged")
    }
}
