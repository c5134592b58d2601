//! The C struct and the slot that contains its `DLTensor`: [`Head`], and a value with that in one
//! allocation: [`WithHead`]. A packet is one; in a [`TryArc`](crate::storage::TryArc) it is lent to
//! one consumer at a time.

use core::cell::UnsafeCell;
use core::ffi::c_void;
use core::mem::{MaybeUninit, offset_of};
use core::panic::RefUnwindSafe;
use core::ptr::NonNull;

use crate::describe::{Checked, Describe, Facts, Slot, SlotMut};
use crate::error::Error;
use crate::ffi::{DLManagedTensorVersioned, DLPackVersion};
use crate::flags::Flags;
use crate::managed::call_deleter::Deleter;
use crate::managed::{ManagedStruct, ManagedTensor};
use crate::storage::Lent;
use crate::stream_arg::ConsumerPlace;

/// The C struct, followed by the rest of the slot that contains its `DLTensor`.
///
/// It contains raw pointers only. A `Box` or a `&mut` in it would be moved when the head is
/// written, and the move would assert unique access to memory to which the C struct already
/// points.
#[repr(C)]
pub(super) struct Head {
    front: MaybeUninit<Front>,
    slot: Slot,
}

/// The fields of the C struct before its `DLTensor`.
#[repr(C)]
struct Front {
    version: DLPackVersion,
    manager_ctx: *mut c_void,
    deleter: Option<Deleter<DLManagedTensorVersioned>>,
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
    const SLOT: usize = offset_of!(Head, slot);

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
        ctx: NonNull<c_void>,
        deleter: Deleter<DLManagedTensorVersioned>,
    ) -> ManagedTensor {
        let front = Front {
            version: facts.version().to_ffi(),
            manager_ctx: ctx.as_ptr(),
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

/// A value, and the head of the struct that exports it.
#[repr(C)]
pub(crate) struct WithHead<T> {
    pub(crate) value: T,
    /// After the value, because the head ends with room for dimensions that few tensors
    /// use. In a cell, because a consumer writes to it while other owners use the value.
    head: UnsafeCell<Head>,
}

// SAFETY: only the consumer of the current lend accesses the head, which may be on any thread.
unsafe impl<T: Send> Send for WithHead<T> {}
// SAFETY: as above; the value is shared as a `T` is.
unsafe impl<T: Sync> Sync for WithHead<T> {}
// The head is written again for each consumer.
impl<T: RefUnwindSafe> RefUnwindSafe for WithHead<T> {}

impl<T> WithHead<T> {
    /// Offset of the head.
    pub(super) const HEAD: usize = offset_of!(Self, head);
    /// Offset of the slot in the head.
    pub(super) const SLOT: usize = Self::HEAD.saturating_add(Head::SLOT);

    pub(crate) const fn new(value: T) -> Self {
        let head = Head { front: MaybeUninit::uninit(), slot: Slot::new() };
        Self { value, head: UnsafeCell::new(head) }
    }
}

impl<T> Lent<WithHead<T>> {
    #[inline(always)]
    fn slot(&self) -> *mut Slot {
        self.head.get().wrapping_byte_add(Head::SLOT).cast()
    }

    /// Starts the description of the value in the slot of its head.
    ///
    /// # Safety
    ///
    /// 1. The result is consumed, and everything derived from it is dropped or passed to
    ///    [`finish`](Self::finish), before any other use of `self`.
    #[inline(always)]
    pub(crate) unsafe fn describe<'a>(&self) -> Describe<'a> {
        // SAFETY: 1. Only the current lend accesses the slot, and by our caller's 1 only
        // through the result. 2. `WithHead::new` initialized the spill.
        let mut slot = unsafe { SlotMut::at(self.slot()) };
        // The previous consumer may have had more dimensions than fit inline.
        slot.clear();
        Describe::new(slot)
    }

    /// Completes the C struct, which is versioned: only that can express READ_ONLY, which nearly
    /// all values with several owners need. On an error the lend ends.
    ///
    /// # Errors
    ///
    /// Those of [`Checked::into_facts`].
    ///
    /// # Safety
    ///
    /// 1. `checked` was lent by the value, which any thread may read and drop.
    /// 2. Device memory was synchronized with a consumer in the place `synchronized`.
    #[inline(always)]
    pub(crate) unsafe fn finish(
        self,
        checked: Checked<'_>,
        synchronized: ConsumerPlace,
    ) -> Result<ManagedTensor, Error> {
        let facts = checked.into_facts(self.slot())?;
        let head = NonNull::from(&self.head).cast::<Head>();
        let ctx = self.into_ctx();
        // The previous consumer may have written to the head, so all of it is written
        // again.
        // SAFETY: 1. Only the current lend accesses the head, until the deleter ends the
        // lend; the value is kept alive and unchanged until then. 2. The deleter ends the
        // lend, once, and by 1 on any thread. 3. Guaranteed by our caller's 2.
        Ok(unsafe { Head::finish(head, &facts, synchronized, Flags::NONE, ctx, returned::<T>) })
    }
}

/// The deleter of a value that is lent with the head beside it.
///
/// It finds the allocation through `manager_ctx`, as the deleter of a packet does.
///
/// # Safety
///
/// 1. `managed` points to a struct that [`Lent::finish`] wrote for the same `T`, or to a copy of
///    one whose `manager_ctx` was not changed.
/// 2. This is the only call for that lend, and its consumer uses neither the struct nor the
///    memory any more.
unsafe extern "C" fn returned<T>(managed: *mut DLManagedTensorVersioned) {
    // SAFETY: 1. By 1 it points to such a struct.
    let Some(ctx) = (unsafe { DLManagedTensorVersioned::read_ctx(managed) }) else { return };
    // SAFETY: 1. `finish` stored it there, and by 2 this is the only call.
    drop(unsafe { Lent::<WithHead<T>>::from_ctx(ctx) });
}
