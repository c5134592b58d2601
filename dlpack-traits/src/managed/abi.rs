//! The two C structs that own a tensor, behind one trait: [`Abi`].

use core::ffi::{CStr, c_void};

use crate::ffi::{DLManagedTensor, DLManagedTensorVersioned, DLTensor};
use crate::flags::Flags;
use crate::version::Version;

/// A C struct that owns a tensor: [`DLManagedTensorVersioned`], or the legacy
/// [`DLManagedTensor`]. Nothing else implements this.
pub trait Abi: Copy + sealed::Sealed + 'static {
    /// The name of a Python capsule that holds such a struct.
    #[doc(hidden)]
    const CAPSULE: &'static CStr;
    /// The name of that capsule once a consumer has taken the struct.
    #[doc(hidden)]
    const USED_CAPSULE: &'static CStr;
    /// Whether the struct has flags, without which nobody can be told not to write.
    #[doc(hidden)]
    const HAS_FLAGS: bool;

    /// The struct with these parts.
    #[doc(hidden)]
    fn new(
        tensor: DLTensor,
        flags: Flags,
        manager_ctx: *mut c_void,
        deleter: unsafe extern "C" fn(*mut Self),
    ) -> Self;
    /// The tensor.
    #[doc(hidden)]
    fn tensor(&self) -> &DLTensor;
    /// The flags; none in the legacy struct.
    #[doc(hidden)]
    fn flags(&self) -> Flags;
    /// The producer's own pointer.
    #[doc(hidden)]
    fn manager_ctx(&self) -> *mut c_void;
    /// What releases the tensor.
    #[doc(hidden)]
    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for crate::ffi::DLManagedTensor {}
    impl Sealed for crate::ffi::DLManagedTensorVersioned {}
}

impl Abi for DLManagedTensorVersioned {
    const CAPSULE: &'static CStr = c"dltensor_versioned";
    const USED_CAPSULE: &'static CStr = c"used_dltensor_versioned";
    const HAS_FLAGS: bool = true;

    #[inline]
    fn new(
        dl_tensor: DLTensor,
        flags: Flags,
        manager_ctx: *mut c_void,
        deleter: unsafe extern "C" fn(*mut Self),
    ) -> Self {
        Self {
            version: Version::CURRENT.to_ffi(),
            manager_ctx,
            deleter: Some(deleter),
            flags: flags.bits(),
            dl_tensor,
        }
    }

    #[inline]
    fn tensor(&self) -> &DLTensor {
        &self.dl_tensor
    }

    #[inline]
    fn flags(&self) -> Flags {
        Flags::from_bits(self.flags)
    }

    #[inline]
    fn manager_ctx(&self) -> *mut c_void {
        self.manager_ctx
    }

    #[inline]
    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)> {
        self.deleter
    }
}

impl Abi for DLManagedTensor {
    const CAPSULE: &'static CStr = c"dltensor";
    const USED_CAPSULE: &'static CStr = c"used_dltensor";
    const HAS_FLAGS: bool = false;

    #[inline]
    fn new(
        dl_tensor: DLTensor,
        _: Flags,
        manager_ctx: *mut c_void,
        deleter: unsafe extern "C" fn(*mut Self),
    ) -> Self {
        Self { dl_tensor, manager_ctx, deleter: Some(deleter) }
    }

    #[inline]
    fn tensor(&self) -> &DLTensor {
        &self.dl_tensor
    }

    #[inline]
    fn flags(&self) -> Flags {
        Flags::NONE
    }

    #[inline]
    fn manager_ctx(&self) -> *mut c_void {
        self.manager_ctx
    }

    #[inline]
    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)> {
        self.deleter
    }
}
