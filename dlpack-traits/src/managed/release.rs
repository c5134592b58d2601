//! The duty to call a deleter: [`Release`].

use core::mem::ManuallyDrop;
use core::ptr::NonNull;

use crate::ffi::{DLManagedTensor, DLManagedTensorVersioned};

/// Calls the deleter of a C struct when it is dropped: once, with the pointer
/// that it was made from, never with that of a copy.
#[derive(Debug)]
pub struct Release(Call);

/// Which function, with which argument. A NULL deleter is not called.
#[derive(Debug)]
enum Call {
    Versioned(
        NonNull<DLManagedTensorVersioned>,
        Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned)>,
    ),
    Legacy(NonNull<DLManagedTensor>, Option<unsafe extern "C" fn(*mut DLManagedTensor)>),
}

// SAFETY: by 1 of its constructors any thread may call the deleter.
unsafe impl Send for Release {}
// SAFETY: a shared `Release` gives out the address of the struct, nothing else.
unsafe impl Sync for Release {}

impl Release {
    /// # Safety
    ///
    /// 1. The deleter, if there is one, may be called once with `managed`, by
    ///    any thread, when this is dropped.
    pub(crate) unsafe fn versioned(
        managed: NonNull<DLManagedTensorVersioned>,
        deleter: Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned)>,
    ) -> Self {
        Self(Call::Versioned(managed, deleter))
    }

    /// # Safety
    ///
    /// 1. As for [`versioned`](Self::versioned).
    pub(crate) unsafe fn legacy(
        managed: NonNull<DLManagedTensor>,
        deleter: Option<unsafe extern "C" fn(*mut DLManagedTensor)>,
    ) -> Self {
        Self(Call::Legacy(managed, deleter))
    }

    /// The struct, if it is the versioned one.
    pub(crate) fn as_versioned(&self) -> Option<NonNull<DLManagedTensorVersioned>> {
        if let Call::Versioned(managed, _) = self.0 { Some(managed) } else { None }
    }

    /// The struct, if it is the legacy one.
    pub(crate) fn as_legacy(&self) -> Option<NonNull<DLManagedTensor>> {
        if let Call::Legacy(managed, _) = self.0 { Some(managed) } else { None }
    }

    /// Leaves the duty to somebody else.
    pub(crate) fn forget(self) {
        let _ = ManuallyDrop::new(self);
    }
}

impl Drop for Release {
    #[inline]
    fn drop(&mut self) {
        match self.0 {
            Call::Versioned(managed, Some(deleter)) => {
                // SAFETY: 1 of `versioned`; a value is dropped once.
                unsafe { deleter(managed.as_ptr()) }
            }
            Call::Legacy(managed, Some(deleter)) => {
                // SAFETY: 1 of `legacy`; a value is dropped once.
                unsafe { deleter(managed.as_ptr()) }
            }
            Call::Versioned(_, None) | Call::Legacy(_, None) => {}
        }
    }
}
