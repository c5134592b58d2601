//! The C struct and the slot that contains its `DLTensor`: [`Head`].

use core::ffi::c_void;
use core::mem::offset_of;
use core::ptr::NonNull;

use crate::describe::{Facts, Slot};
use crate::ffi::{DLManagedTensorVersioned, DLPackVersion};
use crate::flags::Flags;
use crate::managed::ManagedTensor;
use crate::stream::ConsumerPlace;

/// The C struct, followed by the rest of the slot that contains its `DLTensor`.
///
/// It contains raw pointers only. A `Box` or a `&mut` in it would be moved when the head is
/// written, and the move would assert unique access to memory to which the C struct already
/// points.
#[repr(C)]
pub(super) struct Head {
    front: Front,
    slot: Slot,
}

/// The fields of the C struct before its `DLTensor`.
#[repr(C)]
struct Front {
    version: DLPackVersion,
    manager_ctx: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned)>,
    flags: u64,
}

const _: () = {
    assert!(offset_of!(Front, version) == offset_of!(DLManagedTensorVersioned, version));
    assert!(offset_of!(Front, manager_ctx) == offset_of!(DLManagedTensorVersioned, manager_ctx));
    assert!(offset_of!(Front, deleter) == offset_of!(DLManagedTensorVersioned, deleter));
    assert!(offset_of!(Front, flags) == offset_of!(DLManagedTensorVersioned, flags));
    assert!(offset_of!(Head, front) == 0);
    assert!(offset_of!(Head, slot) == offset_of!(DLManagedTensorVersioned, dl_tensor));
    assert!(align_of::<Head>() >= align_of::<DLManagedTensorVersioned>());
};

impl Head {
    /// Offset of the slot in a head.
    pub(super) const SLOT: usize = offset_of!(Head, slot);

    /// Writes the fields before the slot. The result owns what `ctx` points to.
    ///
    /// # Safety
    ///
    /// 1. `head` points to a head that only the caller accesses. Its slot describes a
    ///    tensor, with these facts, in memory that is lent until the deleter is called.
    /// 2. Any thread may call the deleter once.
    /// 3. Device memory was synchronized with a consumer in the place `synchronized`.
    #[inline(always)]
    pub(super) unsafe fn finish(
        head: NonNull<Self>,
        facts: &Facts,
        synchronized: ConsumerPlace,
        flags: Flags,
        ctx: *mut c_void,
        deleter: unsafe extern "C" fn(*mut DLManagedTensorVersioned),
    ) -> ManagedTensor {
        let front = Front {
            version: facts.version().to_ffi(),
            manager_ctx: ctx,
            deleter: Some(deleter),
            flags: (facts.flags() | flags).bits(),
        };
        // SAFETY: by 1 the first field of the head may be written.
        unsafe { head.cast::<Front>().write(front) };
        // SAFETY: 1. By our caller's 1 the struct is complete, and no one writes to it. 2.
        // Guaranteed by our caller's 2. 3. By our caller's 1 the memory is lent until then.
        // 4. The slot has room for the fields of the legacy struct after its `DLTensor`. 5.
        // Guaranteed by our caller's 3.
        unsafe { ManagedTensor::from_raw(head.cast(), facts.access(), synchronized) }
    }
}
