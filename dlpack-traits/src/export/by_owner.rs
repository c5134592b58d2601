//! Exports by a new owner of the memory, which is not the tensor.

use crate::error::Error;
use crate::flags::Flags;
use crate::managed::{ManagedTensor, Packet};
use crate::storage::{SharedOwner, Storage};
use crate::stream::ConsumerPlace;
use crate::view::TensorView;

/// Exports all memory of a storage that has no other owner, contiguous in row-major
/// order. Nothing is pending on it but for the consumer itself, which uses it in that place.
pub(crate) fn compact_managed<S: Storage + Send + 'static>(
    owner: S,
    shape: &[i64],
    synchronized: ConsumerPlace,
) -> Result<ManagedTensor, Error> {
    let placed = Packet::place(owner)?;
    // SAFETY: 1. The next statement but one uses it up, and the last takes the result.
    let out = unsafe { placed.describe() };
    // SAFETY: nothing else borrows the owner. The borrow is deemed alive until the
    // deleter runs: the owner is not named any more.
    let data = unsafe { &*placed.owner() }.data();
    let checked = out.shape_from(shape).data(data)?.into_checked();
    // SAFETY: 1. The owner lent it in its place, and is not named after that. 2. It is
    // `Send + 'static`. 3. Nothing is pending on it but for that consumer.
    unsafe { placed.finish(checked, synchronized, Flags::NONE) }
}

/// Exports a copy of the bytes that a tensor spans, which are all that the owner
/// has, with the strides of the tensor. The copy was made for a consumer in that place.
pub(crate) fn spanned_managed(
    owner: SharedOwner,
    view: &TensorView<'_>,
    synchronized: ConsumerPlace,
) -> Result<ManagedTensor, Error> {
    let placed = Packet::place(owner)?;
    // SAFETY: as in `compact_managed`.
    let data = unsafe { &*placed.owner() }.data();
    let (start, byte_len) = view.facts().span();
    data.memory_ref().check()?;
    if data.byte_len() != byte_len {
        return Err(Error::ShareOutOfRange);
    }
    // SAFETY: 1. The next statements use it up, and the last takes the result.
    let out = unsafe { placed.describe() };
    let shaped = out
        .shape_from(view.shape())
        .strides_from(view.strides())
        .byte_offset(view.byte_offset().saturating_sub(start));
    let shaped = if view.facts().is_padded() { shaped.padded() } else { shaped };
    let checked = shaped.data(data)?.into_checked();
    // SAFETY: 1. and 2. as in `compact_managed`. 3. The copy was made for that consumer.
    unsafe { placed.finish(checked, synchronized, Flags::IS_COPIED) }
}
