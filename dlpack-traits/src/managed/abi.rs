//! The two C structs that own a tensor, behind one trait: [`Abi`].

use core::ffi::{CStr, c_void};
use core::ptr::NonNull;

use crate::ffi::{DLManagedTensor, DLManagedTensorVersioned, DLTensor};
use crate::flags::Flags;
use crate::managed::Release;
use crate::version::Version;

/// A C struct that owns a tensor: [`DLManagedTensorVersioned`], or the legacy
/// [`DLManagedTensor`]. This trait is sealed.
pub trait Abi: sealed::ManagedStruct {}

impl Abi for DLManagedTensorVersioned {}
impl Abi for DLManagedTensor {}

mod sealed {
    use core::ffi::{CStr, c_void};
    use core::ptr::NonNull;

    use crate::ffi::DLTensor;
    use crate::flags::Flags;
    use crate::managed::Release;
    use crate::version::Version;

    /// The operations of this crate on such a struct.
    pub trait ManagedStruct: Copy + 'static {
        /// The name of a Python capsule that contains it.
        const CAPSULE: &'static CStr;
        /// The name of such a capsule after a consumer took the struct.
        const USED_CAPSULE: &'static CStr;
        /// Whether it has flags. Without flags a struct cannot be marked READ_ONLY.
        const HAS_FLAGS: bool;

        /// Creates a struct from these parts, as far as it has fields for them.
        fn new(
            tensor: DLTensor,
            version: Version,
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
        /// The function that releases the tensor.
        fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)>;

        /// The version, which determines whether the fields after `flags` can be read;
        /// `None` in the legacy struct, which has no versions.
        ///
        /// # Safety
        ///
        /// 1. `this` points to an aligned, initialised struct, of which only the fields up
        ///    to `deleter` need to exist.
        unsafe fn version_of(this: NonNull<Self>) -> Option<Version>;

        /// The function that releases the tensor.
        ///
        /// # Safety
        ///
        /// 1. As for [`version_of`](Self::version_of).
        unsafe fn read_deleter(this: NonNull<Self>) -> Option<unsafe extern "C" fn(*mut Self)>;

        /// The obligation to call a deleter that was read before.
        ///
        /// # Safety
        ///
        /// 1. The deleter, if there is one, may be called once with this pointer, by any
        ///    thread, and dropping the result is that call.
        unsafe fn release_by(
            this: NonNull<Self>,
            deleter: Option<unsafe extern "C" fn(*mut Self)>,
        ) -> Release;

        /// The obligation to call the deleter.
        ///
        /// # Safety
        ///
        /// 1. As for [`version_of`](Self::version_of).
        /// 2. As 1 of [`release_by`](Self::release_by).
        #[inline(always)]
        unsafe fn release_of(this: NonNull<Self>) -> Release {
            // SAFETY: 1. Guaranteed by our caller's 1.
            let deleter = unsafe { Self::read_deleter(this) };
            // SAFETY: 1. Guaranteed by our caller's 2.
            unsafe { Self::release_by(this, deleter) }
        }

        /// Returns the struct whose deleter this calls, if it is of this type.
        fn of(release: &Release) -> Option<NonNull<Self>>;
    }
}

impl sealed::ManagedStruct for DLManagedTensorVersioned {
    const CAPSULE: &'static CStr = c"dltensor_versioned";
    const USED_CAPSULE: &'static CStr = c"used_dltensor_versioned";
    const HAS_FLAGS: bool = true;

    #[inline]
    fn new(
        dl_tensor: DLTensor,
        version: Version,
        flags: Flags,
        manager_ctx: *mut c_void,
        deleter: unsafe extern "C" fn(*mut Self),
    ) -> Self {
        Self {
            version: version.to_ffi(),
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

    #[inline]
    unsafe fn version_of(this: NonNull<Self>) -> Option<Version> {
        // SAFETY: by 1 the field is inside the struct.
        let version = unsafe { &raw const (*this.as_ptr()).version };
        // SAFETY: by 1 it is aligned and initialised.
        Some(unsafe { version.read() }.into())
    }

    #[inline]
    unsafe fn read_deleter(this: NonNull<Self>) -> Option<unsafe extern "C" fn(*mut Self)> {
        // SAFETY: by 1 the field is inside the struct.
        let deleter = unsafe { &raw const (*this.as_ptr()).deleter };
        // SAFETY: by 1 it is aligned and initialised.
        unsafe { deleter.read() }
    }

    #[inline]
    unsafe fn release_by(
        this: NonNull<Self>,
        deleter: Option<unsafe extern "C" fn(*mut Self)>,
    ) -> Release {
        // SAFETY: guaranteed by our caller's 1.
        unsafe { Release::versioned(this, deleter) }
    }

    fn of(release: &Release) -> Option<NonNull<Self>> {
        release.as_versioned()
    }
}

impl sealed::ManagedStruct for DLManagedTensor {
    const CAPSULE: &'static CStr = c"dltensor";
    const USED_CAPSULE: &'static CStr = c"used_dltensor";
    const HAS_FLAGS: bool = false;

    #[inline]
    fn new(
        dl_tensor: DLTensor,
        _: Version,
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

    #[inline]
    unsafe fn version_of(_: NonNull<Self>) -> Option<Version> {
        None
    }

    #[inline]
    unsafe fn read_deleter(this: NonNull<Self>) -> Option<unsafe extern "C" fn(*mut Self)> {
        // SAFETY: by 1 the field is inside the struct.
        let deleter = unsafe { &raw const (*this.as_ptr()).deleter };
        // SAFETY: by 1 it is aligned and initialised.
        unsafe { deleter.read() }
    }

    #[inline]
    unsafe fn release_by(
        this: NonNull<Self>,
        deleter: Option<unsafe extern "C" fn(*mut Self)>,
    ) -> Release {
        // SAFETY: guaranteed by our caller's 1.
        unsafe { Release::legacy(this, deleter) }
    }

    fn of(release: &Release) -> Option<NonNull<Self>> {
        release.as_legacy()
    }
}
