//! The two C structs that own a tensor, behind one trait: [`Abi`].

use core::ffi::CStr;
use core::mem::offset_of;
use core::ptr::NonNull;

use crate::ffi::{DLManagedTensor, DLManagedTensorVersioned, DLTensor};
use crate::managed::Release;
use crate::managed::release::Call;

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
    use crate::managed::release::Call;

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

        /// The tensor.
        fn tensor(&self) -> &DLTensor;
        /// The flags; `None` in the legacy struct, which has no flags.
        fn flags(&self) -> Option<&u64>;
        /// The function that releases the tensor.
        fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)>;

        /// The obligation to call a deleter, as data.
        fn call(this: NonNull<Self>, deleter: Option<unsafe extern "C" fn(*mut Self)>) -> Call;

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

        /// The function that releases the tensor.
        ///
        /// # Safety
        ///
        /// 1. As for [`version_field`](Self::version_field).
        #[inline]
        unsafe fn read_deleter(this: NonNull<Self>) -> Option<unsafe extern "C" fn(*mut Self)> {
            let deleter = this.as_ptr().wrapping_byte_add(Self::DELETER);
            // SAFETY: by 1 the field is inside of the struct, aligned and initialized.
            unsafe { deleter.cast::<Option<unsafe extern "C" fn(*mut Self)>>().read() }
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

        /// The obligation to call a deleter that was read before.
        ///
        /// # Safety
        ///
        /// 1. The deleter, if there is one, may be called once with this pointer, by any
        ///    thread, and dropping the result is that call.
        #[inline]
        unsafe fn release_by(
            this: NonNull<Self>,
            deleter: Option<unsafe extern "C" fn(*mut Self)>,
        ) -> Release {
            // SAFETY: 1. Guaranteed by our caller's 1.
            unsafe { Release::new(Self::call(this, deleter)) }
        }

        /// The obligation to call the deleter.
        ///
        /// # Safety
        ///
        /// 1. As for [`version_field`](Self::version_field).
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
    const VERSION: Option<usize> = Some(offset_of!(Self, version));
    const MANAGER_CTX: usize = offset_of!(Self, manager_ctx);
    const DELETER: usize = offset_of!(Self, deleter);

    #[inline]
    fn tensor(&self) -> &DLTensor {
        &self.dl_tensor
    }

    #[inline]
    fn flags(&self) -> Option<&u64> {
        Some(&self.flags)
    }

    #[inline]
    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)> {
        self.deleter
    }

    #[inline]
    fn call(this: NonNull<Self>, deleter: Option<unsafe extern "C" fn(*mut Self)>) -> Call {
        Call::Versioned(this, deleter)
    }

    fn of(release: &Release) -> Option<NonNull<Self>> {
        release.as_versioned()
    }
}

impl sealed::ManagedStruct for DLManagedTensor {
    const CAPSULE: &'static CStr = c"dltensor";
    const USED_CAPSULE: &'static CStr = c"used_dltensor";
    const VERSION: Option<usize> = None;
    const MANAGER_CTX: usize = offset_of!(Self, manager_ctx);
    const DELETER: usize = offset_of!(Self, deleter);

    #[inline]
    fn tensor(&self) -> &DLTensor {
        &self.dl_tensor
    }

    #[inline]
    fn flags(&self) -> Option<&u64> {
        None
    }

    #[inline]
    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)> {
        self.deleter
    }

    #[inline]
    fn call(this: NonNull<Self>, deleter: Option<unsafe extern "C" fn(*mut Self)>) -> Call {
        Call::Legacy(this, deleter)
    }

    fn of(release: &Release) -> Option<NonNull<Self>> {
        release.as_legacy()
    }
}
