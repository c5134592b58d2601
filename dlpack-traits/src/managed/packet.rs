//! The one allocation of an export: [`Packet`].

use core::mem::forget;

use crate::contain::contain_second;
use crate::describe::{Describe, Description, DescriptionMut, Facts};
use crate::error::Error;
use crate::flags::Flags;
use crate::managed::ManagedTensor;
use crate::managed::deleter::delete;
use crate::managed::head::Head;
use crate::managed::place::Place;
use crate::storage::{SharedOwner, Storage};
use crate::stream::{ConsumerPlace, StreamArg};

/// What an export allocates: the owner that keeps the elements alive, the C struct, and
/// the dimensions.
pub(crate) struct Packet;

/// A packet with an owner in its final place and, until [`give_away`](Self::give_away),
/// no head. Dropping it drops the owner and frees the packet.
pub(crate) struct Placed<O> {
    place: Place<O>,
}

impl Packet {
    /// Moves an owner to the place where it stays until the deleter drops it.
    ///
    /// On failure the owner is dropped.
    #[inline(always)]
    pub(crate) fn place<O>(owner: O) -> Result<Placed<O>, Error> {
        let place = Place::allocate()?;
        // SAFETY: the place is aligned for an owner and holds nothing yet.
        unsafe { place.value().write(owner) };
        Ok(Placed { place })
    }

    /// [`place`](Self::place), word by word.
    ///
    /// On failure the owner is dropped.
    #[inline(always)]
    pub(crate) fn place_shared(owner: SharedOwner) -> Result<Placed<SharedOwner>, Error> {
        let parts = owner.into_parts();
        let place = match Place::allocate() {
            Ok(place) => place,
            Err(error) => {
                // SAFETY: 1. The parts are not used again.
                drop(unsafe { parts.into_owner() });
                return Err(error);
            }
        };
        // SAFETY: 1. The place is aligned for an owner and holds nothing yet. 2. The parts
        // are not used again.
        unsafe { parts.write(place.value().as_ptr()) };
        Ok(Placed { place })
    }
}

/// How an owner lends its memory.
///
/// A trait and not a closure, which the compiler does not inline everywhere (measured: 50
/// instructions an export).
pub(crate) trait Lend<O> {
    fn lend<'x>(self, owner: &'x mut O, out: Describe<'x>) -> Result<DescriptionMut<'x>, Error>;
}

/// A tensor that describes itself. As [`Lend`] a trait and not a closure.
pub(crate) trait DescribeIn<'t> {
    fn describe_in(self, out: Describe<'t>) -> Result<Description<'t>, Error>;
}

impl<O: Send + 'static> Placed<O> {
    /// The owner in its final place.
    #[inline(always)]
    pub(crate) fn owner(&self) -> &O {
        // SAFETY: `Packet` initialised it, and what borrows it for longer takes `self`.
        unsafe { self.place.value().as_ref() }
    }

    /// Lends the memory of the owner, describes it in this packet, synchronizes it with the
    /// consumer, and gives the packet away.
    ///
    /// [`Lend::lend`] cannot depend on the lifetime that it is given, so what it returns is
    /// right for the time until the deleter runs too: `docs/SAFETY.md`.
    ///
    /// # Errors
    ///
    /// Those of [`Lend::lend`], of the device, and of
    /// [`Checked::settle`](crate::describe::Checked::settle).
    #[inline(always)]
    pub(crate) fn lend(
        self,
        lend: impl Lend<O>,
        consumer: StreamArg<'_>,
        flags: Flags,
    ) -> Result<ManagedTensor, Error> {
        // SAFETY: 1. It is synchronized with that consumer.
        unsafe { self.lend_at(lend, Some(consumer), consumer.place(), flags) }
    }

    /// [`lend`](Self::lend) of memory that is synchronized with a consumer in that place, after
    /// it was synchronized with `consumer`, if there is one.
    ///
    /// # Errors
    ///
    /// As for [`lend`](Self::lend).
    ///
    /// # Safety
    ///
    /// 1. It is, if it is memory of a device.
    #[inline(always)]
    pub(crate) unsafe fn lend_at(
        self,
        lend: impl Lend<O>,
        consumer: Option<StreamArg<'_>>,
        place: ConsumerPlace,
        flags: Flags,
    ) -> Result<ManagedTensor, Error> {
        // SAFETY: 1. Only this reaches the slot, until `settle` ends the description.
        // 2. `allocate` did it.
        let out = unsafe { Describe::at(self.place.slot()) };
        // SAFETY: nothing else borrows the owner. The borrow is deemed alive until the
        // deleter runs: the owner is not named any more, and what it lends goes into the
        // packet and nowhere else.
        let owner = unsafe { self.place.value().as_mut() };
        let checked = lend.lend(owner, out)?.into_checked();
        if let Some(consumer) = consumer {
            // SAFETY: 1. The owner lent the memory in its place, where it is borrowed still.
            unsafe { checked.facts.sync_for(consumer) }?;
        }
        let facts = checked.settle(self.place.slot())?;
        // SAFETY: 1. The owner lent the memory in its place, and is not named after that.
        // 2. Guaranteed by 1.
        Ok(unsafe { self.give_away(&facts, place, flags) })
    }

    /// Writes the rest of the head and gives the packet away.
    ///
    /// # Safety
    ///
    /// 1. A tensor is described in the slot, with these facts, in memory that was lent by
    ///    this packet's owner, in its place, and the owner has not been named since.
    /// 2. Memory of a device was synchronized with a consumer in that place.
    #[inline(always)]
    unsafe fn give_away(
        self,
        facts: &Facts,
        synchronized: ConsumerPlace,
        flags: Flags,
    ) -> ManagedTensor {
        let (head, ctx) = (self.place.head(), self.place.into_ctx());
        forget(self);
        // SAFETY: 1. The head is this packet's, which only we know, and by 1 the owner lends
        // the memory until it is dropped, which the deleter does. 2. `O` is `Send + 'static`.
        // 3. Guaranteed by 2.
        unsafe { Head::finish(head, facts, synchronized, flags, ctx, delete::<O>) }
    }
}

impl Placed<SharedOwner> {
    /// Lends the memory of the owner with the layout of a tensor, all of whose elements have to
    /// be in that memory, synchronizes it with the consumer, and gives the packet away.
    ///
    /// # Errors
    ///
    /// [`Error::ShareOutOfRange`] and others where they are not, and those of the device.
    #[inline(always)]
    #[expect(single_use_lifetimes, reason = "it cannot be elided in `impl DescribeIn`")]
    pub(crate) fn lend_in<'t>(
        self,
        tensor: impl DescribeIn<'t>,
        consumer: StreamArg<'_>,
    ) -> Result<ManagedTensor, Error> {
        // SAFETY: nothing else borrows the owner. The borrow is deemed alive until the
        // deleter runs: the owner is not named any more.
        let data = unsafe { self.place.value().as_ref() }.data();
        // SAFETY: 1. Only this reaches the slot, until `settle_in` ends the description.
        // 2. `allocate` did it.
        let out = unsafe { Describe::at(self.place.slot()) };
        // The layout is the tensor's, the memory is the owner's: what the tensor lends may be
        // gone by tomorrow, what the owner lends may not.
        let checked = tensor.describe_in(out)?.into_checked();
        // SAFETY: 1. As above; its description ends here.
        let facts = unsafe { checked.settle_in(data.memory_ref(), self.place.slot()) }?;
        // SAFETY: 1. The owner lent the memory in its place, where it is borrowed still.
        unsafe { facts.sync_for(consumer) }?;
        // SAFETY: 1. The elements are in that memory. 2. The statement before synchronized it.
        Ok(unsafe { self.give_away(&facts, consumer.place(), Flags::NONE) })
    }
}

impl<O> Drop for Placed<O> {
    /// Nothing came of the packet, which is rare: out of line, once for each type.
    #[cold]
    #[inline(never)]
    fn drop(&mut self) {
        // SAFETY: 1. Only this has the address. 2. The owner is in its place from `place` on.
        contain_second(|| unsafe { self.place.release() });
    }
}
