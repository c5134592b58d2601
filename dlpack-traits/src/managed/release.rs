//! The duty to call a deleter: [`Release`].

use core::ptr::NonNull;

use crate::ffi::{DLManagedTensor, DLManagedTensorVersioned};

/// Calls the deleter of a C struct when it is dropped: once, with the pointer
/// that it was made from, never with that of a copy.
#[derive(Debug)]
pub struct Release(Call);

/// Which function, with which argument.
#[derive(Debug)]
enum Call {
    Versioned(
        NonNull<DLManagedTensorVersioned>,
        unsafe extern "C" fn(*mut DLManagedTensorVersioned),
    ),
    Legacy(NonNull<DLManagedTensor>, unsafe extern "C" fn(*mut DLManagedTensor)),
    /// The deleter is NULL: there is nothing to release.
    Nothing,
}

// SAFETY: by 1 of its constructors any thread may call the deleter.
unsafe impl Send for Release {}
// SAFETY: a shared `Release` does nothing.
unsafe impl Sync for Release {}

impl Release {
    /// # Safety
    ///
    /// 1. The deleter, if there is one, may be called once with `managed`, by
    ///    any thread, when this is dropped.
    #[inline]
    pub(crate) unsafe fn versioned(
        managed: NonNull<DLManagedTensorVersioned>,
        deleter: Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned)>,
    ) -> Self {
        Self(deleter.map_or(Call::Nothing, |deleter| Call::Versioned(managed, deleter)))
    }

    /// # Safety
    ///
    /// 1. As for [`versioned`](Self::versioned).
    #[inline]
    pub(crate) unsafe fn legacy(
        managed: NonNull<DLManagedTensor>,
        deleter: Option<unsafe extern "C" fn(*mut DLManagedTensor)>,
    ) -> Self {
        Self(deleter.map_or(Call::Nothing, |deleter| Call::Legacy(managed, deleter)))
    }
}

impl Drop for Release {
    #[inline]
    fn drop(&mut self) {
        match self.0 {
            Call::Versioned(managed, deleter) => {
                // SAFETY: 1 of `versioned`; a value is dropped once.
                unsafe { deleter(managed.as_ptr()) }
            }
            Call::Legacy(managed, deleter) => {
                // SAFETY: 1 of `legacy`; a value is dropped once.
                unsafe { deleter(managed.as_ptr()) }
            }
            Call::Nothing => {}
        }
    }
}
