//! The two C structs that own a tensor, behind one trait: [`Abi`].

use core::ffi::{CStr, c_void};

use crate::ffi::{DLManagedTensor, DLManagedTensorVersioned, DLTensor};
use crate::flags::Flags;
use crate::version::Version;

/// A C struct that owns a tensor: [`DLManagedTensorVersioned`], or the legacy
/// [`DLManagedTensor`]. Nothing else implements this.
pub trait Abi: sealed::ManagedStruct {}

impl Abi for DLManagedTensorVersioned {}
impl Abi for DLManagedTensor {}

mod sealed {
    use core::ffi::{CStr, c_void};

    use crate::ffi::DLTensor;
    use crate::flags::Flags;

    /// What the runtime does with such a struct.
    pub trait ManagedStruct: Copy + 'static {
        /// The name of a Python capsule that holds it.
        const CAPSULE: &'static CStr;
        /// Whether it has flags, without which nobody can be told not to write.
        const HAS_FLAGS: bool;

        /// The struct with these parts.
        fn new(
            tensor: DLTensor,
            flags: Flags,
            manager_ctx: *mut c_void,
            deleter: unsafe extern "C" fn(*mut Self),
        ) -> Self;
        /// The tensor.
        fn tensor(&self) -> &DLTensor;
        /// The flags; none in the legacy struct.
        fn flags(&self) -> Flags;
        /// The producer's own pointer.
        fn manager_ctx(&self) -> *mut c_void;
        /// What releases the tensor.
        fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)>;
    }
}

impl sealed::ManagedStruct for DLManagedTensorVersioned {
    const CAPSULE: &'static CStr = c"dltensor_versioned";
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

impl sealed::ManagedStruct for DLManagedTensor {
    const CAPSULE: &'static CStr = c"dltensor";
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
