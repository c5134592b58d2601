//! The two C structs that own a tensor, behind one trait: [`Abi`].

use core::ffi::CStr;
use core::mem::offset_of;
use core::ptr::NonNull;

use crate::ffi::{DLManagedTensor, DLManagedTensorVersioned, DLTensor};
use crate::managed::Release;
use crate::managed::call_deleter::{Call, Deleter};

/// A C struct that owns a tensor: [`DLManagedTensorVersioned`], or the legacy
/// [`DLManagedTensor`]. This trait is sealed.
pub trait Abi: sealed::ManagedStruct {}

impl Abi for DLManagedTensorVersioned {}
impl Abi for DLManagedTensor {}

pub(crate) use sealed::ManagedStruct;

mod sealed {
    use core::ffi::{CStr, c_void};
    use core::ptr::NonNull;

    use crate::ffi::{DLPackVersion, DLTensor};
    use crate::managed::Release;
    use crate::managed::call_deleter::{Call, Deleter};

    /// The operations of this crate on such a struct.
    pub trait ManagedStruct: Copy + 'static {
        /// The name of a Python capsule that contains it.
        const CAPSULE: &'static CStr;
        /// The name of such a capsule after a consumer took the struct.
        const USED_CAPSULE: &'static CStr;
        /// Offset of the version, if it has one.
        const VERSION: Option<usize>;
        /// Offset of the producer's own pointer.
        const MANAGER_CTX: usize;
        /// Offset of the deleter.
        const DELETER: usize;
        /// The obligation to call a deleter, as data.
        const CALL: fn(NonNull<Self>, Option<Deleter<Self>>) -> Call;

        /// The tensor.
        fn tensor(&self) -> &DLTensor;
        /// The flags; `None` in the legacy struct, which has no flags.
        fn flags(&self) -> Option<&u64>;
        /// The version, which determines whether the fields after `flags` can be read;
        /// `None` in the legacy struct, which has no versions.
        ///
        /// # Safety
        ///
        /// 1. `this` points to an aligned, initialized struct, of which only the fields up
        ///    to `deleter` need to exist, and which no one writes for `'a`.
        #[inline]
        unsafe fn version_field<'a>(this: NonNull<Self>) -> Option<&'a DLPackVersion> {
            let version = this.as_ptr().wrapping_byte_add(Self::VERSION?);
            // SAFETY: by 1 the field is inside of the struct, aligned, initialized, and not written.
            Some(unsafe { &*version.cast::<DLPackVersion>() })
        }

        /// The producer's own pointer, in the argument of a deleter; `None` for NULL.
        ///
        /// # Safety
        ///
        /// 1. `this` is NULL, or as for [`version_field`](Self::version_field).
        #[inline]
        unsafe fn read_ctx(this: *mut Self) -> Option<NonNull<c_void>> {
            let ctx = NonNull::new(this)?.as_ptr().wrapping_byte_add(Self::MANAGER_CTX);
            // SAFETY: by 1 the field is inside of the struct, aligned and initialized.
            NonNull::new(unsafe { ctx.cast::<*mut c_void>().read() })
        }

        /// The obligation to call the deleter.
        ///
        /// # Safety
        ///
        /// 1. As for [`version_field`](Self::version_field).
        /// 2. The deleter, if there is one, may be called once with this pointer, by any
        ///    thread, and dropping the result is that call.
        #[inline(always)]
        unsafe fn release_of(this: NonNull<Self>) -> Release {
            let deleter = this.as_ptr().wrapping_byte_add(Self::DELETER);
            // SAFETY: by 1 the field is inside of the struct, aligned and initialized.
            let deleter = unsafe { deleter.cast::<Option<Deleter<Self>>>().read() };
            // SAFETY: 1. Guaranteed by our caller's 2.
            unsafe { Release::new((Self::CALL)(this, deleter)) }
        }

        /// Returns the struct whose deleter this calls, if it is of this type.
        fn of(release: &Release) -> Option<NonNull<Self>>;
    }
}

impl sealed::ManagedStruct for DLManagedTensorVersioned {
    const CAPSULE: &'static CStr = c"dltensor_versioned";
    const USED_CAPSULE: &'static CStr = c"used_dltensor_versioned";
    const VERSION: Option<usize> = Some(offset_of!(Self, version));
    const MANAGER_CTX: usize = offset_of!(Self, manager_ctx);
    const DELETER: usize = offset_of!(Self, deleter);
    const CALL: fn(NonNull<Self>, Option<Deleter<Self>>) -> Call = Call::Versioned;

    #[inline]
    fn tensor(&self) -> &DLTensor {
        &self.dl_tensor
    }

    #[inline]
    fn flags(&self) -> Option<&u64> {
        Some(&self.flags)
    }

    fn of(release: &Release) -> Option<NonNull<Self>> {
        if let Call::Versioned(managed, _) = release.call { Some(managed) } else { None }
    }
}

impl sealed::ManagedStruct for DLManagedTensor {
    const CAPSULE: &'static CStr = c"dltensor";
    const USED_CAPSULE: &'static CStr = c"used_dltensor";
    const VERSION: Option<usize> = None;
    const MANAGER_CTX: usize = offset_of!(Self, manager_ctx);
    const DELETER: usize = offset_of!(Self, deleter);
    const CALL: fn(NonNull<Self>, Option<Deleter<Self>>) -> Call = Call::Legacy;

    #[inline]
    fn tensor(&self) -> &DLTensor {
        &self.dl_tensor
    }

    #[inline]
    fn flags(&self) -> Option<&u64> {
        None
    }

    fn of(release: &Release) -> Option<NonNull<Self>> {
        if let Call::Legacy(managed, _) = release.call { Some(managed) } else { None }
    }
}
