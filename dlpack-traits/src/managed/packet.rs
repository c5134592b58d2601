//! The one allocation of an export: [`Packet`].

use alloc::alloc::{alloc, dealloc};
use core::alloc::Layout;
use core::ffi::c_void;
use core::mem::{forget, offset_of};
use core::ptr::NonNull;

use crate::contain::contain_second;
use crate::describe::{Checked, Describe, Facts, Slot};
use crate::error::Error;
use crate::ffi::{DLManagedTensorVersioned, DLPackVersion};
use crate::flags::Flags;
use crate::managed::ManagedTensor;
use crate::managed::deleter::delete;
use crate::storage::{Memory, SharedOwner};
use crate::stream::{ConsumerPlace, StreamArg};

/// The C struct, and behind it the rest of the slot that its `DLTensor` is in.
///
/// It holds raw pointers only. A `Box` or a `&mut` in here would be moved when
/// the head is written, and with that would lay claim to memory to which the C
/// struct already points.
#[repr(C)]
pub(super) struct Head {
    version: DLPackVersion,
    manager_ctx: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned)>,
    flags: u64,
    slot: Slot,
}

const _: () = {
    assert!(offset_of!(Head, version) == offset_of!(DLManagedTensorVersioned, version));
    assert!(offset_of!(Head, manager_ctx) == offset_of!(DLManagedTensorVersioned, manager_ctx));
    assert!(offset_of!(Head, deleter) == offset_of!(DLManagedTensorVersioned, deleter));
    assert!(offset_of!(Head, flags) == offset_of!(DLManagedTensorVersioned, flags));
    assert!(offset_of!(Head, slot) == offset_of!(DLManagedTensorVersioned, dl_tensor));
    assert!(align_of::<Head>() >= align_of::<DLManagedTensorVersioned>());
};

impl Head {
    /// The slot of a head.
    ///
    /// # Safety
    ///
    /// 1. `head` points to memory for a head.
    #[inline(always)]
    pub(super) unsafe fn slot(head: NonNull<Self>) -> NonNull<Slot> {
        // SAFETY: by 1 the field is inside the memory.
        let slot = unsafe { &raw mut (*head.as_ptr()).slot };
        // SAFETY: a field of memory that is there is not at address 0.
        unsafe { NonNull::new_unchecked(slot) }
    }

    /// Writes what stands in front of the slot. The result owns what `ctx` points to.
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
        let at = head.as_ptr();
        // SAFETY: by 1 the field is inside the head.
        let place = unsafe { &raw mut (*at).version };
        // SAFETY: by 1 it may be written.
        unsafe { place.write(facts.version().to_ffi()) };
        // SAFETY: by 1 the field is inside the head.
        let place = unsafe { &raw mut (*at).manager_ctx };
        // SAFETY: by 1 it may be written.
        unsafe { place.write(ctx) };
        // SAFETY: by 1 the field is inside the head.
        let place = unsafe { &raw mut (*at).deleter };
        // SAFETY: by 1 it may be written.
        unsafe { place.write(Some(deleter)) };
        // SAFETY: by 1 the field is inside the head.
        let place = unsafe { &raw mut (*at).flags };
        // SAFETY: by 1 it may be written.
        unsafe { place.write((facts.flags() | flags).bits()) };
        // SAFETY: 1. By 1 the struct is complete, and no one writes to it. 2. Guaranteed by
        // 2. 3. By 1 the memory is lent until then. 4. The slot has room for the fields of
        // the legacy struct behind its `DLTensor`. 5. Guaranteed by 3.
        unsafe { ManagedTensor::from_raw(head.cast(), facts.access(), synchronized) }
    }
}

/// What an export allocates: the owner that keeps the elements alive, the C struct, and
/// the dimensions.
#[repr(C)]
pub(crate) struct Packet<O> {
    owner: O,
    /// Behind the owner, because it ends in room for dimensions that few tensors fill.
    head: Head,
}

/// A packet with an owner in its final place and, until [`finish`](Self::finish),
/// no head. Dropping it drops the owner and frees the packet.
pub(crate) struct Placed<O> {
    packet: NonNull<Packet<O>>,
}

impl<O> Packet<O> {
    /// Memory for a packet, in which nothing but the spill of the slot is initialised.
    #[inline(always)]
    pub(crate) fn allocate() -> Result<NonNull<Self>, Error> {
        let layout = Layout::new::<Self>();
        // SAFETY: a packet has a head, so its size is not zero.
        let packet = unsafe { alloc(layout) };
        let Some(packet) = NonNull::new(packet.cast::<Self>()) else {
            return Err(out_of_memory(layout.size()));
        };
        // SAFETY: 1. The allocation has the layout of a packet, and only we know it.
        unsafe { Slot::init(slot(packet)) };
        Ok(packet)
    }

    /// Moves an owner to the place where it stays until the deleter drops it.
    ///
    /// On failure the owner is dropped.
    #[inline(always)]
    pub(crate) fn place(owner: O) -> Result<Placed<O>, Error> {
        let packet = Self::allocate()?;
        // SAFETY: the allocation has the layout of a packet, so the owner's
        // field is inside it.
        let place = unsafe { &raw mut (*packet.as_ptr()).owner };
        // SAFETY: the place is aligned for an owner and holds nothing yet.
        unsafe { place.write(owner) };
        Ok(Placed { packet })
    }
}

impl Packet<SharedOwner> {
    /// [`place`](Self::place), word by word.
    ///
    /// On failure the owner is dropped.
    #[inline(always)]
    pub(crate) fn place_shared(owner: SharedOwner) -> Result<Placed<SharedOwner>, Error> {
        let parts = owner.into_parts();
        let packet = match Self::allocate() {
            Ok(packet) => packet,
            Err(error) => {
                // SAFETY: 1. The parts are not used again.
                drop(unsafe { parts.into_owner() });
                return Err(error);
            }
        };
        // SAFETY: the allocation has the layout of a packet, so the owner's
        // field is inside it.
        let place = unsafe { &raw mut (*packet.as_ptr()).owner };
        // SAFETY: 1. The place is aligned for an owner and holds nothing yet. 2. The parts
        // are not used again.
        unsafe { parts.write(place) };
        Ok(Placed { packet })
    }
}

#[cold]
fn out_of_memory(bytes: usize) -> Error {
    Error::OutOfMemory { bytes }
}

/// The head of a packet.
#[inline(always)]
fn head<O>(packet: NonNull<Packet<O>>) -> NonNull<Head> {
    let head = packet.as_ptr().wrapping_byte_add(offset_of!(Packet<O>, head)).cast();
    // SAFETY: it is a part of an allocation, and so not at address 0.
    unsafe { NonNull::new_unchecked(head) }
}

/// The slot of a packet.
#[inline(always)]
fn slot<O>(packet: NonNull<Packet<O>>) -> NonNull<Slot> {
    // SAFETY: 1. It is the head of a packet.
    unsafe { Head::slot(head(packet)) }
}

impl<O> Placed<O> {
    /// The owner in its final place.
    #[inline(always)]
    pub(crate) fn owner(&self) -> *mut O {
        // SAFETY: the packet is allocated, so the owner's field is inside it.
        unsafe { &raw mut (*self.packet.as_ptr()).owner }
    }

    /// The right to describe the tensor in this packet.
    ///
    /// # Safety
    ///
    /// 1. It is used up, and what came of it is gone or an argument of
    ///    [`finish`](Self::finish) or [`finish_in`](Self::finish_in), before anything else
    ///    is done with this.
    #[inline(always)]
    pub(crate) unsafe fn describe<'a>(&self) -> Describe<'a> {
        // SAFETY: 1. Only this reaches the slot, and does so by 1. 2. `allocate` did it.
        unsafe { Describe::at(slot(self.packet)) }
    }

    /// Writes the rest of the head and gives the packet away.
    ///
    /// # Safety
    ///
    /// 1. `checked` was lent by this packet's owner, in its place, and the owner has not
    ///    been named since.
    /// 2. The owner may be dropped by any thread at any time: it is `Send` and borrows
    ///    nothing.
    /// 3. Memory of a device was synchronized with a consumer in that place.
    #[inline(always)]
    pub(crate) unsafe fn finish(
        self,
        checked: Checked<'_>,
        synchronized: ConsumerPlace,
        flags: Flags,
    ) -> Result<ManagedTensor, Error> {
        let facts = checked.settle(slot(self.packet))?;
        // SAFETY: 1. to 3. Guaranteed by 1 to 3 of this function.
        Ok(unsafe { self.give_away(&facts, synchronized, flags) })
    }

    /// [`finish`](Self::finish) for the layout of a tensor in the memory that the owner
    /// lent, which is synchronized with the consumer.
    ///
    /// # Errors
    ///
    /// [`Error::ShareOutOfRange`] and others where the elements are not in that memory, and
    /// those of the device.
    ///
    /// # Safety
    ///
    /// 1. `memory` was lent by this packet's owner, in its place, and the owner has not
    ///    been named since.
    /// 2. As for [`finish`](Self::finish).
    #[inline(always)]
    pub(crate) unsafe fn finish_in(
        self,
        checked: Checked<'_>,
        memory: &Memory,
        consumer: StreamArg<'_>,
    ) -> Result<ManagedTensor, Error> {
        // SAFETY: 1. Only this reaches the slot; its description ends here.
        let facts = unsafe { checked.settle_in(memory, slot(self.packet)) }?;
        // SAFETY: 1. By 1 the owner lent the memory in its place, where it is borrowed still.
        unsafe { facts.sync_for(consumer) }?;
        // SAFETY: 1. The elements are in that memory. 2. Guaranteed by 2 of this function.
        // 3. The statement before synchronized it.
        Ok(unsafe { self.give_away(&facts, consumer.place(), Flags::NONE) })
    }

    /// # Safety
    ///
    /// 1. A tensor is described in the slot, with these facts, in memory that was lent by
    ///    this packet's owner, in its place, and the owner has not been named since.
    /// 2. and 3. As for [`finish`](Self::finish).
    #[inline(always)]
    unsafe fn give_away(
        self,
        facts: &Facts,
        synchronized: ConsumerPlace,
        flags: Flags,
    ) -> ManagedTensor {
        let packet = self.packet;
        let ctx = packet.as_ptr().cast();
        forget(self);
        // SAFETY: 1. The head is this packet's, which only we know, and by 1 the owner lends
        // the memory until it is dropped, which the deleter does. 2. By 2 it may.
        // 3. Guaranteed by 3.
        unsafe { Head::finish(head(packet), facts, synchronized, flags, ctx, delete::<O>) }
    }
}

impl<O> Drop for Placed<O> {
    /// Nothing came of the packet, which is rare: out of line, once for each type.
    #[cold]
    #[inline(never)]
    fn drop(&mut self) {
        // SAFETY: 1. The owner is in its place from `place` on, and this is the end.
        contain_second(|| unsafe { release(self.packet) });
    }
}

/// Drops the owner and frees the packet, the latter also where the former panics.
///
/// # Safety
///
/// 1. The packet came from [`Packet::place`], and is not used again.
#[inline(always)]
pub(crate) unsafe fn release<O>(packet: NonNull<Packet<O>>) {
    struct Free(NonNull<u8>, Layout);
    impl Drop for Free {
        #[inline(always)]
        fn drop(&mut self) {
            // SAFETY: `allocate` allocated the packet with this layout.
            unsafe { dealloc(self.0.as_ptr(), self.1) }
        }
    }
    let _free = Free(packet.cast(), Layout::new::<Packet<O>>());
    // SAFETY: 1. `allocate` initialised the spill, and by 1 this is the end. 2. As before.
    unsafe { Slot::clear(slot(packet)) };
    // SAFETY: by 1 the packet is allocated, so the owner's field is inside it.
    let owner = unsafe { &raw mut (*packet.as_ptr()).owner };
    // SAFETY: by 1 it is initialised, and only this drops it.
    unsafe { owner.drop_in_place() }
}
