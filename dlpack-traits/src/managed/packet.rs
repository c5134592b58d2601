//! The one allocation of an export: [`Packet`]. Its deleter is in `deleter`.
//!
//! Hot paths do not move freshly written structs: a load that is wider than the preceding
//! stores waits until these have left the store buffer (store forwarding fails; 5 to 10
//! ns). The owner, the dimensions and the C struct are therefore written at their final
//! addresses, and the functions of an export are `#[inline(always)]`. With both, an export
//! of a `Vec` and its deleter take as long as one allocation that is filled by hand;
//! without inlining, three times as long. Instruction counts do not show such a wait; `perf
//! annotate` does.

use alloc::boxed::Box;
use core::ffi::c_void;
use core::mem::{ManuallyDrop, forget};
use core::ptr::NonNull;

use crate::describe::{Describe, Description, DescriptionMut, Facts, Slot, SlotMut};
use crate::error::Error;
use crate::flags::Flags;
use crate::managed::ManagedTensor;
use crate::managed::deleter::{delete, discard, release};
use crate::managed::head::{Head, WithHead};
use crate::storage::{DataRef, SharedOwner, Storage, try_place};
use crate::stream_arg::{ConsumerPlace, StreamArg};

/// The allocation of an export: the owner that keeps the elements alive, in its final
/// place, and the head with the C struct, shape and strides.
///
/// Owner and head are accessed separately, through raw pointers: a consumer uses the head
/// while the owner stays in its place.
///
/// Invariant: it is a box. The owner and the spill of the slot are initialized; the rest of the
/// head is not until [`give_away`](Self::give_away).
pub(crate) struct Packet<O>(NonNull<WithHead<O>>);

impl<O> Packet<O> {
    /// Moves an owner to the place where it stays until the deleter drops it.
    ///
    /// On failure the owner is dropped.
    #[inline(always)]
    pub(crate) fn place(owner: O) -> Result<Self, Error> {
        Ok(Self::filled(allocate()?, owner))
    }

    /// As [`place`](Self::place), but returns the owner on failure.
    pub(crate) fn try_place(owner: O) -> Result<Self, (O, Error)> {
        match allocate() {
            Ok(place) => Ok(Self::filled(place, owner)),
            Err(error) => Err((owner, error)),
        }
    }

    /// The packet with that owner, in memory from [`allocate`].
    #[inline(always)]
    fn filled(place: NonNull<WithHead<O>>, owner: O) -> Self {
        // SAFETY: the place is aligned for an owner, its first field, and contains none yet.
        unsafe { place.cast().write(owner) };
        Self(place)
    }

    /// The address of the owner.
    #[inline(always)]
    fn value(&self) -> NonNull<O> {
        // It is the first field.
        self.0.cast()
    }

    #[inline(always)]
    fn slot(&self) -> *mut Slot {
        slot_of(self.0)
    }
}

/// The address of the slot in the head.
#[inline(always)]
fn slot_of<O>(place: NonNull<WithHead<O>>) -> *mut Slot {
    place.as_ptr().wrapping_byte_add(WithHead::<O>::SLOT).cast()
}

/// Allocates memory in which only the spill of the slot is initialized.
#[inline(always)]
fn allocate<O>() -> Result<NonNull<WithHead<O>>, Error> {
    let Some(place) = try_place::<WithHead<O>>() else {
        return Err(out_of_memory(size_of::<WithHead<O>>()));
    };
    let place = NonNull::from(Box::leak(place)).cast();
    // SAFETY: 1. It is memory for a slot, and no one else has its address.
    unsafe { Slot::init(slot_of(place)) };
    Ok(place)
}

#[cold]
fn out_of_memory(bytes: usize) -> Error {
    Error::OutOfMemory { bytes }
}

impl Packet<SharedOwner> {
    /// As [`place`](Self::place), for a `SharedOwner`, which is moved word by word.
    ///
    /// On failure the owner is dropped.
    #[inline(always)]
    pub(crate) fn place_shared(owner: SharedOwner) -> Result<Self, Error> {
        let words = owner.into_words();
        let place = match allocate::<SharedOwner>() {
            Ok(place) => place,
            Err(error) => {
                // SAFETY: 1. The words are not used again.
                drop(unsafe { words.into_owner() });
                return Err(error);
            }
        };
        // SAFETY: 1. The place is aligned for an owner and contains none yet. 2. The words
        // are not used again.
        unsafe { words.write(place.as_ptr().cast()) };
        Ok(Self(place))
    }
}

/// How an owner lends its memory.
///
/// It is a trait and not a closure, because the compiler does not always inline a closure
/// (measured: 50 instructions per export).
pub(crate) trait Lend<O> {
    fn lend<'x>(self, owner: &'x mut O, out: Describe<'x>) -> Result<DescriptionMut<'x>, Error>;
}

/// A tensor that describes itself. It is a trait for the same reason as [`Lend`].
pub(crate) trait DescribeIn<'t> {
    fn describe_in(self, out: Describe<'t>) -> Result<Description<'t>, Error>;
}

impl<O: Send + 'static> Packet<O> {
    /// The owner in its final place.
    #[inline(always)]
    pub(crate) fn owner(&self) -> &O {
        // SAFETY: `place` initialized it. By 2 of `facts` no reference from here is alive when it is
        // borrowed exclusively; other methods that borrow it take `self`.
        unsafe { self.value().as_ref() }
    }

    /// Lends the memory of the owner, describes it in this packet, synchronizes it with the
    /// consumer, and returns the tensor.
    ///
    /// [`Lend::lend`] is generic over the lifetime of its argument, so its result is also
    /// valid for the time until the deleter runs: `docs/soundness.md`.
    ///
    /// # Errors
    ///
    /// Those of [`Lend::lend`], of the device, and of
    /// [`Checked::into_facts`](crate::describe::Checked::into_facts).
    #[inline(always)]
    pub(crate) fn lend(
        self,
        lend: impl Lend<O>,
        consumer: StreamArg<'_>,
        flags: Flags,
    ) -> Result<ManagedTensor, Error> {
        // SAFETY: 1. `lend_at` synchronizes the memory with that consumer.
        unsafe { self.lend_at(lend, Some(consumer), consumer.place(), flags) }
    }

    /// As [`lend`](Self::lend), for memory that is synchronized with a consumer in the
    /// place `place`. If `consumer` is not `None`, this synchronizes the memory with it.
    ///
    /// # Errors
    ///
    /// As for [`lend`](Self::lend).
    ///
    /// # Safety
    ///
    /// 1. Device memory is synchronized with a consumer in that place, after the
    ///    synchronization with `consumer` if there is one.
    #[inline(always)]
    pub(crate) unsafe fn lend_at(
        self,
        lend: impl Lend<O>,
        consumer: Option<StreamArg<'_>>,
        place: ConsumerPlace,
        flags: Flags,
    ) -> Result<ManagedTensor, Error> {
        // SAFETY: 1. The packet is given away below, or not used for another description. 2. A method
        // that takes the packet by value holds no reference to it.
        let facts = unsafe { self.facts(lend, consumer) }?;
        // SAFETY: 1. The owner lent the memory in its final place, and is not accessed
        // after that.
        // 2. Guaranteed by our caller's 1.
        Ok(unsafe { self.give_away(&facts, place, flags) })
    }

    /// As [`lend`](Self::lend), but returns the owner with an error.
    ///
    /// # Errors
    ///
    /// As for [`lend`](Self::lend).
    pub(crate) fn try_lend(
        self,
        lend: impl Lend<O>,
        consumer: StreamArg<'_>,
    ) -> Result<ManagedTensor, (O, Error)> {
        // SAFETY: 1. The packet is given away below, or not used for another description. 2. A method
        // that takes the packet by value holds no reference to it.
        match unsafe { self.facts(lend, Some(consumer)) } {
            // SAFETY: 1. The owner lent the memory in its final place, and is not accessed after
            // that. 2. `facts` synchronized it with that consumer.
            Ok(facts) => Ok(unsafe { self.give_away(&facts, consumer.place(), Flags::NONE) }),
            Err(error) => Err((self.take(), error)),
        }
    }

    /// Frees the packet, and returns the owner, which lends no memory any more.
    pub(crate) fn take(self) -> O {
        let place = self.0.cast();
        forget(self);
        // SAFETY: by the invariant it is initialized, and it is the first field.
        let owner = unsafe { place.cast::<O>().read() };
        // SAFETY: 1. Only this function has the address. The owner in the packet was moved out, and
        // a `ManuallyDrop` of it has the same layout.
        unsafe { release::<ManuallyDrop<O>>(place) };
        owner
    }

    /// Lends the memory of the owner, describes it in this packet, and synchronizes it with the
    /// consumer if there is one.
    ///
    /// # Safety
    ///
    /// 1. If the result is `Ok`, the owner is not accessed until the deleter drops it, or its memory
    ///    is not used.
    /// 2. No reference from [`owner`](Self::owner) is alive.
    #[inline(always)]
    unsafe fn facts(
        &self,
        lend: impl Lend<O>,
        consumer: Option<StreamArg<'_>>,
    ) -> Result<Facts, Error> {
        // SAFETY: 1. Only this function accesses the slot, until `into_facts` ends the
        // description.
        // 2. `allocate` initialized the spill.
        let out = Describe::new(unsafe { SlotMut::at(self.slot()) });
        // SAFETY: by 2 nothing else borrows the owner. The borrow is treated as alive until the
        // deleter runs: by 1 the owner is not accessed any more, and what it lends is stored
        // only in the packet. After an error nothing uses what it lent.
        let owner = unsafe { self.value().as_mut() };
        let checked = lend.lend(owner, out)?.into_checked();
        if let Some(consumer) = consumer {
            // SAFETY: 1. The owner lent the memory in its final place, and is still
            // borrowed there.
            unsafe { checked.facts.sync_for(consumer) }?;
        }
        checked.into_facts(self.slot())
    }

    /// Writes the rest of the head and returns the tensor.
    ///
    /// # Safety
    ///
    /// 1. The slot describes a tensor, with these facts, in memory that was lent by this
    ///    packet's owner, in its final place, and the owner has not been accessed since.
    /// 2. Device memory was synchronized with a consumer in the place `synchronized`.
    #[inline(always)]
    unsafe fn give_away(
        self,
        facts: &Facts,
        synchronized: ConsumerPlace,
        flags: Flags,
    ) -> ManagedTensor {
        let (place, ctx) = (self.0, self.0.cast::<c_void>());
        forget(self);
        // SAFETY: by the invariant the field is inside of the box.
        let head = unsafe { place.byte_add(WithHead::<O>::HEAD) }.cast();
        // SAFETY: 1. Only this packet has the address of its head, and by 1 the owner lends
        // the memory until it is dropped, which the deleter does. 2. `O` is
        // `Send + 'static`. 3. Guaranteed by our caller's 2.
        unsafe { Head::finish(head, facts, synchronized, flags, ctx, delete::<O>) }
    }
}

impl Packet<SharedOwner> {
    /// Lends the memory of an owner in its final place with the layout of a tensor, whose
    /// elements must all be in that memory, synchronizes it with the consumer, and returns
    /// the tensor.
    ///
    /// # Errors
    ///
    /// Those of the description; [`Error::NotShareable`] if there is no owner;
    /// [`Error::ShareOutOfRange`] and others if the elements are not in its memory, and
    /// those of the device.
    #[inline(always)]
    #[expect(single_use_lifetimes, reason = "it cannot be elided in `impl DescribeIn`")]
    pub(crate) fn lend_in<'t>(
        packet: Option<Self>,
        tensor: impl DescribeIn<'t>,
        consumer: StreamArg<'_>,
    ) -> Result<ManagedTensor, Error> {
        // A tensor without an owner is described too, for the error. It is the same call,
        // because each one compiles the whole description of the type.
        let mut aside = Slot::new();
        let (data, slot) = match &packet {
            // SAFETY: by 2 nothing else borrows the owner. The borrow is treated as alive until
            // the deleter runs: the owner is not accessed any more.
            Some(packet) => (unsafe { packet.value().as_ref() }.data(), packet.slot()),
            None => (DataRef::refused(&Error::NotShareable), &raw mut aside),
        };
        // SAFETY: 1. Only this function accesses the slot, until `into_relocated_facts` ends the
        // description.
        // 2. `allocate` or `Slot::new` initialized the spill.
        let out = Describe::new(unsafe { SlotMut::at(slot) });
        // The layout is the tensor's, the memory is the owner's: only the owner keeps its
        // memory alive for the consumer.
        let checked = tensor.describe_in(out)?.into_checked();
        // SAFETY: 1. As above; the description in the slot ends here.
        let facts = unsafe { checked.into_relocated_facts(data.memory_ref(), slot) }?;
        let Some(packet) = packet else { return Err(Error::NotShareable) };
        // SAFETY: 1. The owner lent the memory in its final place, and is still borrowed
        // there.
        unsafe { facts.sync_for(consumer) }?;
        // SAFETY: 1. `into_relocated_facts` checked that the elements are in that memory. 2. The
        // statement above synchronized it.
        Ok(unsafe { packet.give_away(&facts, consumer.place(), Flags::NONE) })
    }
}

impl<O> Drop for Packet<O> {
    /// Frees a packet that was not exported.
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: 1. Only `self` has the address.
        unsafe { discard(self.0.cast(), release::<O>) }
    }
}
