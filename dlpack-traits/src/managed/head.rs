//! The C struct with the rest of its slot: [`Head`].

use core::ffi::c_void;
use core::mem::offset_of;
use core::ptr::NonNull;

use crate::describe::{Facts, Slot};
use crate::ffi::{DLManagedTensorVersioned, DLPackVersion};
use crate::flags::Flags;
use crate::managed::ManagedTensor;
use crate::stream::ConsumerPlace;

/// The C struct, and behind it the rest of the slot that its `DLTensor` is in.
///
/// It holds raw pointers only. A `Box` or a `&mut` in here would be moved when
/// the head is written, and with that would lay claim to memory to which the C
/// struct already points.
#[repr(C)]
pub(super) struct Head {
    front: Front,
    slot: Slot,
}

/// The fields of the C struct in front of its `DLTensor`.
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
    /// Where in a head the slot is.
    pub(super) const SLOT: usize = offset_of!(Head, slot);

    /// Writes what is in front of the slot. The result owns what `ctx` points to.
    ///
    /// # Safety
    ///
    /// 1. `head` points to a head that the caller alone accesses, in whose slot a tensor
    ///    is described, with these facts, in memory that is lent until the deleter is
    ///    called.
    /// 2. Any thread may call the deleter once.
    /// 3. Memory of a device was synchronized with a consumer in that place.
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
        // SAFETY: 1. By 1 the struct is complete, and no one writes to it. 2. Guaranteed by
        // 2. 3. By 1 the memory is lent until then. 4. The slot has room for the fields of
        // the legacy struct behind its `DLTensor`. 5. Guaranteed by 3.
        unsafe { ManagedTensor::from_raw(head.cast(), facts.access(), synchronized) }
    }
}
