//! Exports of a storage without a tensor type: a new block of elements, or a copy.

use crate::describe::{Describe, DescriptionMut, Layout};
use crate::error::Error;
use crate::flags::Flags;
use crate::managed::{Lend, ManagedTensor, Packet};
use crate::storage::{SharedOwner, Storage};
use crate::stream_arg::ConsumerPlace;
use crate::view::TensorView;

/// Exports all memory of a storage that has no other owner, contiguous in row-major order.
/// The only pending work on it is that of the consumer in the place `synchronized`.
pub(crate) fn compact_managed<S: Storage + Send + 'static>(
    owner: S,
    shape: &[i64],
    synchronized: ConsumerPlace,
) -> Result<ManagedTensor, Error> {
    let packet = Packet::place(owner)?;
    // SAFETY: 1. The only pending work is that of the consumer in that place.
    unsafe { packet.lend_at(Whole { shape }, None, synchronized, Flags::NONE) }
}

/// Exports a copy of the bytes that a tensor spans, with the strides of the tensor. The
/// owner has exactly these bytes. The copy was made for a consumer in the place
/// `synchronized`.
pub(crate) fn spanned_managed(
    owner: SharedOwner,
    view: &TensorView<'_>,
    synchronized: ConsumerPlace,
) -> Result<ManagedTensor, Error> {
    let packet = Packet::place(owner)?;
    // SAFETY: 1. The copy was made for a consumer in that place.
    unsafe { packet.lend_at(Spanned { view }, None, synchronized, Flags::IS_COPIED) }
}

/// Lends all memory of the owner, contiguously.
struct Whole<'s> {
    shape: &'s [i64],
}

impl<S: Storage> Lend<S> for Whole<'_> {
    fn lend<'x>(self, owner: &'x mut S, out: Describe<'x>) -> Result<DescriptionMut<'x>, Error> {
        Ok(out.copied(Layout::new(self.shape), owner.data())?.into())
    }
}

/// Lends the bytes that a tensor spans, with its strides. The owner has exactly these
/// bytes.
struct Spanned<'v> {
    view: &'v TensorView<'v>,
}

impl Lend<SharedOwner> for Spanned<'_> {
    fn lend<'x>(
        self,
        owner: &'x mut SharedOwner,
        out: Describe<'x>,
    ) -> Result<DescriptionMut<'x>, Error> {
        let (view, data) = (self.view, owner.data());
        let (start, byte_len) = view.facts().span();
        data.memory_ref().check()?;
        if data.byte_len() != byte_len {
            return Err(Error::ShareOutOfRange);
        }
        let byte_offset = view.byte_offset().saturating_sub(start);
        let layout = Layout::new(view.shape()).strides(view.strides()).byte_offset(byte_offset);
        let layout = if view.facts().is_padded() { layout.padded() } else { layout };
        Ok(out.copied(layout, data)?.into())
    }
}
