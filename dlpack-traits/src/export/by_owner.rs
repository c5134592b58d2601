//! Exports by an owner of the memory that is not the tensor: another one, or a new one.

use super::{DLPackExport, allowed, flags_for, tensor_of};
use crate::described::{Described, Layout, Plain};
use crate::error::Error;
use crate::ffi::DLManagedTensorVersioned;
use crate::flags::Flags;
use crate::managed::{Abi, ManagedTensor, Packet, Placed, Unfinished};
use crate::storage::{DataRef, Memory, SharedOwner, Storage, UseOwner};
use crate::stream::StreamArg;
use crate::view::TensorView;

/// The export of a tensor by one more owner of its memory, of a type that is known.
pub(crate) struct ShareBy<'a, T: ?Sized> {
    tensor: &'a T,
    consumer: StreamArg<'a>,
}

impl<'a, T: DLPackExport + ?Sized> ShareBy<'a, T> {
    /// To be given to [`Storage::share_with`].
    #[inline]
    pub(crate) fn new(tensor: &'a T, consumer: StreamArg<'a>) -> Self {
        Self { tensor, consumer }
    }
}

impl<T: DLPackExport + ?Sized> UseOwner for ShareBy<'_, T> {
    type Output = Result<ManagedTensor, Error>;

    #[inline(always)]
    fn use_owner<S: Storage + Send + 'static>(self, owner: S) -> Result<ManagedTensor, Error> {
        share_by(self.tensor, owner, self.consumer)
    }

    #[inline]
    fn no_owner(self) -> Result<ManagedTensor, Error> {
        Err(Error::NotShareable)
    }
}

/// Exports a tensor with an owner of its memory.
#[inline(always)]
pub(super) fn share_by<A: Abi, T: DLPackExport + ?Sized, S: Storage + Send + 'static>(
    tensor: &T,
    owner: S,
    consumer: StreamArg<'_>,
) -> Result<ManagedTensor<A>, Error> {
    // First, so that a hook that panics finds the owner where a panic of its drop is caught.
    let placed = Packet::<A, S>::place(owner)?;
    tensor.sync_for(consumer)?;
    // SAFETY: as in `into_managed`.
    let room = unsafe { &mut *placed.space() }.room();
    let plain = tensor.tensor_in(room).and_then(|plain| {
        // SAFETY: the owner is in its place, and nothing else borrows it. If what it lends
        // is used, the borrow is deemed alive until the deleter runs, and nobody names the
        // owner until then. If not, it is over.
        plain.owned_by(unsafe { &*placed.owner() }.data().memory_ref())
    });
    if let Some(plain) = plain {
        let flags = allowed::<A>(plain.flags())?;
        // SAFETY: 1. The owner lent its memory in its place, where it is borrowed still.
        unsafe { plain.sync_for(consumer) }?;
        // SAFETY: 1. `plain` is what the owner lent in its place, the dimensions
        // are in this packet's room, and nobody names the owner after that.
        // 2. The owner is `Send` and borrows nothing.
        return Ok(unsafe { placed.finish_plain(&plain, flags) });
    }
    share_described(placed, tensor_of(tensor), consumer)
}

/// The rest of [`share_by`], for a tensor that is not plain, or none.
#[cold]
#[inline(never)]
fn share_described<A: Abi, S: Storage + Send + 'static>(
    placed: Placed<A, S>,
    view: Result<TensorView<'_>, Error>,
    consumer: StreamArg<'_>,
) -> Result<ManagedTensor<A>, Error> {
    // SAFETY: nothing else borrows the owner. The borrow is deemed alive until the
    // deleter runs: from here on nobody names the owner.
    let data = unsafe { &*placed.owner() }.data();
    // SAFETY: 1. The owner lent the data in its place, and nobody has named it since.
    // 2. The owner is `Send` and borrows nothing.
    let outcome = unsafe { finish_shared::<A>(placed.unfinished(), view, &data, consumer) };
    // SAFETY: 1. It returns what `finish` returns.
    unsafe { placed.settle(&outcome) };
    outcome
}

/// Writes the layout of a tensor, in the memory of an owner, into the head of its
/// packet.
///
/// # Safety
///
/// Those of [`Unfinished::finish`], of the data.
#[inline(never)]
unsafe fn finish_shared<A: Abi>(
    packet: Unfinished<A>,
    mut view: Result<TensorView<'_>, Error>,
    data: &DataRef<'_>,
    consumer: StreamArg<'_>,
) -> Result<ManagedTensor<A>, Error> {
    let described = match &mut view {
        Ok(view) => view.described_mut(),
        Err(error) => return Err(*error),
    };
    // The layout is the tensor's, the memory is the owner's: what `tensor`
    // lent may be gone by tomorrow, what `owner` lends may not.
    described.relocate(data.memory_ref())?;
    let flags = flags_for::<A>(described, Flags::NONE)?;
    // SAFETY: 1. It is the memory of `data` now, which is borrowed.
    unsafe { described.sync_for(consumer) }?;
    // SAFETY: 1. and 2. are 1. and 2. of this function: `described` lies in `data`.
    unsafe { packet.finish(described, flags) }
}

/// Exports all memory of a storage that is in no other's hands, compact in row-major
/// order. Nothing is pending on it but for the consumer itself.
pub(crate) fn compact_managed<S: Storage + Send + 'static>(
    owner: S,
    shape: &[i64],
) -> Result<ManagedTensor, Error> {
    let placed = Packet::<DLManagedTensorVersioned, S>::place(owner)?;
    // SAFETY: as in `share_described`.
    let data = unsafe { &*placed.owner() }.data();
    // SAFETY: as in `into_managed`.
    let room = unsafe { &mut *placed.space() }.room();
    let memory = *data.memory_ref();
    if let Some(plain) = room.fill(shape).and_then(|shape| Plain::of_ref(data, shape)) {
        let flags = plain.flags();
        // SAFETY: 1. and 2. as in `share_by`.
        return Ok(unsafe { placed.finish_plain(&plain, flags) });
    }
    let described = Described::new(memory, Layout::row_major(shape)?)?;
    let flags = flags_for::<DLManagedTensorVersioned>(&described, Flags::NONE)?;
    // SAFETY: 1. and 2. as in `share_described`.
    unsafe { placed.finish(&described, flags) }
}

/// Exports a copy of the bytes that a tensor spans, which are all that the owner
/// has, with the strides of the tensor.
pub(crate) fn spanned_managed<A: Abi>(
    owner: SharedOwner,
    described: Described<'_>,
) -> Result<ManagedTensor<A>, Error> {
    owned_managed(owner, Flags::IS_COPIED, |memory| described.into_copy(memory))
}

/// Exports what an owner lends, as `describe` says it lies there.
fn owned_managed<'a, A: Abi>(
    owner: SharedOwner,
    flags: Flags,
    describe: impl FnOnce(&Memory) -> Result<Described<'a>, Error>,
) -> Result<ManagedTensor<A>, Error> {
    let placed = Packet::<A, SharedOwner>::place(owner)?;
    // SAFETY: as in `share_described`.
    let data = unsafe { &*placed.owner() }.data();
    let described = describe(data.memory_ref())?;
    let flags = flags_for::<A>(&described, flags)?;
    // SAFETY: 1. and 2. as in `share_described`.
    unsafe { placed.finish(&described, flags) }
}
