//! A tensor on its way out: [`Outgoing`].

use core::fmt;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;

use crate::ffi::DLManagedTensorVersioned;
use crate::managed::{Abi, ManagedTensor};

/// A [`ManagedTensor`] without the access with which it is lent.
///
/// It is one pointer, also as an `Option`, and so stays in a register where a
/// `ManagedTensor` goes through memory: what was just written there takes longer to read
/// than all checks of an export.
pub struct Outgoing<A: Abi = DLManagedTensorVersioned> {
    managed: NonNull<A>,
}

// SAFETY: it is a `ManagedTensor`, of which the same is true.
unsafe impl<A: Abi> Send for Outgoing<A> {}

impl<A: Abi> Outgoing<A> {
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
        // SAFETY: by 1 of `from_raw` it points to a struct that does not change while
        // `self` is borrowed.
        unsafe { self.managed.as_ref() }
    }
}

impl<A: Abi> From<ManagedTensor<A>> for Outgoing<A> {
    #[inline(always)]
    fn from(tensor: ManagedTensor<A>) -> Self {
        Self { managed: tensor.into_non_null() }
    }
}

impl<A: Abi> Drop for Outgoing<A> {
    /// Nobody took it.
    #[cold]
    fn drop(&mut self) {
        if let Some(deleter) = self.managed().deleter() {
            // SAFETY: by 2 of `from_raw` it may be called once, and after `drop` nobody
            // uses the struct.
            unsafe { deleter(self.managed.as_ptr()) }
        }
    }
}

impl<A: Abi> fmt::Debug for Outgoing<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Outgoing")
    }
}
