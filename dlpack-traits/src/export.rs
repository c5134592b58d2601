//! Giving tensors away: [`DLPackExport`].

mod by_owner;
mod pointers;

pub(crate) use by_owner::{ShareBy, compact_managed, spanned_managed};

use self::by_owner::share_by;
use crate::copy::Copied;
use crate::described::{Described, Plain};
use crate::dims::Room;
use crate::error::Error;
use crate::ffi::{DLManagedTensor, DLManagedTensorVersioned};
use crate::flags::Flags;
use crate::managed::{Abi, ManagedTensor, Packet, Placed, Unfinished};
use crate::storage::{SharedOwner, Storage};
use crate::stream::{StreamArg, StreamKind};
use crate::version::Version;
use crate::view::{Lend, TensorView};

/// A type that can be handed to other libraries as a tensor.
///
/// Usually the derive of the same name writes the implementation. By hand it
/// takes no `unsafe` either: the type *lends* its memory and says how the
/// elements lie in it, and everything it says is checked. If it panics, the export
/// drops the owner, catches a panic of that drop (with `std`), and passes the first one on.
///
/// | export | the object afterwards | a consumer may write |
/// |---|---|---|
/// | [`into_dlpack`](Self::into_dlpack) | is gone | if the storage is exclusively held |
/// | [`to_dlpack`](Self::to_dlpack) | stays usable | only into a `SharedBuffer` |
/// | [`copy_to_dlpack`](Self::copy_to_dlpack) | stays usable | yes, into its own copy |
/// | [`tensor`](Self::tensor) and [`TensorView::dl_tensor`] | is borrowed | only into a `SharedBuffer` |
///
/// ```
/// use std::sync::Arc;
/// use dlpack_traits::{DLPackExport, Error, Flags, Layout, Storage, TensorView};
///
/// struct Image {
///     pixels: Arc<[u8]>,
///     shape: [usize; 3],
/// }
///
/// impl DLPackExport for Image {
///     fn tensor(&self) -> Result<TensorView<'_>, Error> {
///         TensorView::new(self.pixels.data(), Layout::row_major(&self.shape)?)
///     }
///
///     fn storage(&self) -> Option<&dyn Storage> {
///         Some(&self.pixels)
///     }
/// }
///
/// let image = Image { pixels: Arc::from([0; 12]), shape: [2, 2, 3] };
/// let shared = image.to_dlpack()?;
/// assert_eq!(shared.as_data_ptr(), image.pixels.as_ptr());
/// assert_eq!(shared.flags(), Flags::READ_ONLY);
/// # Ok::<(), Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tensor that DLPack can export",
    note = "add `#[derive(DLPackExport)]` to `{Self}`, or implement `dlpack_traits::DLPackExport`; if it is another crate's, do so for a struct that holds it",
    note = "a list of elements has no shape: mark it `#[dlpack(data)]` in a struct with a `shape`"
)]
pub trait DLPackExport {
    /// The tensor, borrowed.
    ///
    /// # Errors
    ///
    /// Whatever makes the type's present state no tensor.
    fn tensor(&self) -> Result<TensorView<'_>, Error>;

    /// [`tensor`](Self::tensor) for who rarely comes there: a call, and not the code of
    /// the short way once more. The derive writes this.
    #[doc(hidden)]
    #[inline]
    fn tensor_rarely(&self) -> Result<TensorView<'_>, Error> {
        self.tensor()
    }

    /// The tensor, with as much freedom as the storage can give away. By
    /// default that is reading only.
    ///
    /// # Errors
    ///
    /// Those of [`tensor`](Self::tensor).
    #[inline]
    fn lend(&mut self) -> Result<Lend<'_>, Error> {
        self.tensor().map(Lend::from)
    }

    /// What [`tensor`](Self::tensor) says, if that is plain, with its
    /// dimensions written to where the consumer reads them. The derive writes
    /// this.
    #[doc(hidden)]
    #[inline]
    fn tensor_in<'a>(&'a self, room: Room<'a>) -> Option<Plain<'a>> {
        let _ = room;
        None
    }

    /// What [`lend`](Self::lend) says, if that is plain; see `tensor_in`.
    #[doc(hidden)]
    #[inline]
    fn lend_in<'a>(&'a mut self, room: Room<'a>) -> Option<Plain<'a>> {
        let _ = room;
        None
    }

    /// The shape, if this stores it as the numbers that a C struct has.
    #[doc(hidden)]
    #[inline]
    fn stored_shape(&self) -> Option<&[i64]> {
        None
    }

    /// [`to_dlpack_on`](Self::to_dlpack_on), with any owner that [`share`](Self::share)
    /// makes, or [`Error::NotShareable`]. What knows the type of that owner, or needs
    /// none, has a shorter way: the derive writes one, and [`Shared`](crate::Shared) has
    /// another.
    #[doc(hidden)]
    #[inline]
    fn share_dlpack(&self, consumer: StreamArg<'_>) -> Result<ManagedTensor, Error> {
        share_by_any(self, consumer)
    }

    /// What holds the elements. By default, [`share`](Self::share) is its.
    #[inline]
    fn storage(&self) -> Option<&dyn Storage> {
        None
    }

    /// Synchronizes work that the memory itself does not know of, such as another thread
    /// that fills it. By default there is none.
    ///
    /// Every export calls this before it asks for the tensor. Then it synchronizes the
    /// memory of the tensor, whatever this did: a [`DeviceBuffer`] orders its own work.
    /// So an implementation can make consumers wait longer, and has nothing to forward.
    ///
    /// [`DeviceBuffer`]: crate::backend::DeviceBuffer
    ///
    /// # Errors
    ///
    /// Whatever keeps the work from being done.
    #[inline]
    fn sync_for(&self, consumer: StreamArg<'_>) -> Result<(), Error> {
        let _ = consumer;
        Ok(())
    }

    /// Another owner of the same memory, if the [`storage`](Self::storage) can
    /// have several.
    #[inline]
    fn share(&self) -> Option<SharedOwner> {
        self.storage()?.share()
    }

    /// Exports the tensor together with its owner, which is dropped by the
    /// deleter, on any thread. One allocation; beyond 8 dimensions, more.
    ///
    /// A consumer may write if the storage is exclusively held (`Vec<T>`,
    /// `Box<[T]>`, `[T; N]`) or a [`SharedBuffer`](crate::SharedBuffer);
    /// otherwise the tensor is READ_ONLY.
    ///
    /// # Errors
    ///
    /// Those of [`lend`](Self::lend), and [`Error::OutOfMemory`]; the owner is
    /// then dropped.
    #[inline]
    fn into_dlpack(self) -> Result<ManagedTensor, Error>
    where
        Self: Sized + Send + 'static,
    {
        into_managed::<DLManagedTensorVersioned, Self>(self, StreamArg::unspecified())
    }

    /// [`into_dlpack`](Self::into_dlpack) for a consumer that says on which stream
    /// it will use the tensor.
    ///
    /// # Errors
    ///
    /// Those of `into_dlpack`, of [`sync_for`](Self::sync_for), and of
    /// [`TensorView::sync_for`].
    #[inline]
    fn into_dlpack_on(self, consumer: StreamArg<'_>) -> Result<ManagedTensor, Error>
    where
        Self: Sized + Send + 'static,
    {
        into_managed::<DLManagedTensorVersioned, Self>(self, consumer)
    }

    /// [`into_dlpack`](Self::into_dlpack) for consumers of before 1.0.
    ///
    /// # Errors
    ///
    /// Those of `into_dlpack`, and [`Error::ReadOnlyLegacy`] where the tensor
    /// would be READ_ONLY: the legacy struct cannot say so.
    #[inline]
    fn into_dlpack_legacy(self) -> Result<ManagedTensor<DLManagedTensor>, Error>
    where
        Self: Sized + Send + 'static,
    {
        into_managed::<DLManagedTensor, Self>(self, StreamArg::unspecified())
    }

    /// Exports the tensor with one more owner of its memory, and leaves the
    /// object usable. One allocation; beyond 8 dimensions, more.
    ///
    /// The tensor is READ_ONLY, unless the storage is a
    /// [`SharedBuffer`](crate::SharedBuffer).
    ///
    /// # Errors
    ///
    /// Those of [`tensor`](Self::tensor), [`Error::NotShareable`] where the
    /// storage has a single owner, [`Error::ShareOutOfRange`] where a
    /// hand-written [`share`](Self::share) returns another memory, and
    /// [`Error::OutOfMemory`].
    #[inline]
    fn to_dlpack(&self) -> Result<ManagedTensor, Error> {
        self.to_dlpack_on(StreamArg::unspecified())
    }

    /// [`to_dlpack`](Self::to_dlpack) for a consumer that says on which stream it
    /// will use the tensor.
    ///
    /// # Errors
    ///
    /// Those of `to_dlpack`, of [`sync_for`](Self::sync_for), and of
    /// [`TensorView::sync_for`].
    #[inline]
    fn to_dlpack_on(&self, consumer: StreamArg<'_>) -> Result<ManagedTensor, Error> {
        match share_managed(self, consumer) {
            // What is no tensor at all cannot be shared either, but that is
            // not what is wrong with it.
            Err(Error::NotShareable) => Err(not_shareable(tensor_of(self))),
            shared => shared,
        }
    }

    /// Exports a copy of the elements, compact in row-major order and aligned
    /// to 64 bytes, which the consumer alone owns (IS_COPIED) and may write.
    ///
    /// # Errors
    ///
    /// Those of [`tensor`](Self::tensor), [`Error::NotOnHost`] where the
    /// processor cannot read the memory, and [`Error::OutOfMemory`].
    fn copy_to_dlpack(&self) -> Result<ManagedTensor, Error> {
        copy_managed(self, StreamArg::unspecified())
    }
}

/// Exports by value: [`DLPackExport::into_dlpack`] for either struct, ordered
/// before the consumer's stream.
#[inline(always)]
pub(crate) fn into_managed<A: Abi, T: DLPackExport + Send + 'static>(
    owner: T,
    consumer: StreamArg<'_>,
) -> Result<ManagedTensor<A>, Error> {
    // The order of these steps is the proof; see docs/SAFETY.md.
    let placed = Packet::<A, T>::place(owner)?;
    // SAFETY: the owner is in its place, and nothing else borrows it. This
    // borrow ends before the next one begins.
    unsafe { &*placed.owner() }.sync_for(consumer)?;
    // SAFETY: the room is a part of the packet beside the owner, which nobody
    // else borrows.
    let room = unsafe { &mut *placed.space() }.room();
    // SAFETY: nothing else borrows the owner. If it lends, the borrow is deemed
    // alive until the deleter runs: nobody names the owner any more, and what
    // it lends goes into the head and nowhere else. If not, it is over.
    if let Some(plain) = unsafe { &mut *placed.owner() }.lend_in(room) {
        let flags = allowed::<A>(plain.flags())?;
        // SAFETY: 1. The owner lent it in its place, where it is borrowed still.
        unsafe { plain.sync_for(consumer) }?;
        // SAFETY: 1. `plain` was lent by the owner in its place, its dimensions
        // are in the one room of its lifetime, which is this packet's, and nobody
        // names the owner after that. 2. `T` is
        // `Send + 'static`.
        return Ok(unsafe { placed.finish_plain(&plain, flags) });
    }
    lend_described(placed, consumer)
}

/// The rest of [`into_managed`], for a tensor that is not plain, or none.
#[cold]
#[inline(never)]
fn lend_described<A: Abi, T: DLPackExport + Send + 'static>(
    placed: Placed<A, T>,
    consumer: StreamArg<'_>,
) -> Result<ManagedTensor<A>, Error> {
    // SAFETY: nothing else borrows the owner. The borrow is deemed alive until
    // the deleter runs: from here on nobody names the owner, and what it lends
    // goes into the head and nowhere else.
    let lend = unsafe { &mut *placed.owner() }.lend();
    // SAFETY: 1. `lend` was lent by the owner in its place, and nobody names
    // the owner after that. 2. `T` is `Send + 'static`.
    let outcome = unsafe { finish_lend::<A>(placed.unfinished(), lend, consumer) };
    // SAFETY: 1. It returns what `finish` returns.
    unsafe { placed.settle(&outcome) };
    outcome
}

/// Writes what was lent into the head of a packet.
///
/// # Safety
///
/// Those of [`Unfinished::finish`].
#[inline(never)]
#[expect(clippy::needless_pass_by_value, reason = "it is dropped here, and not in every type")]
unsafe fn finish_lend<A: Abi>(
    packet: Unfinished<A>,
    lend: Result<Lend<'_>, Error>,
    consumer: StreamArg<'_>,
) -> Result<ManagedTensor<A>, Error> {
    let described = match &lend {
        Ok(lend) => lend.described(),
        Err(error) => return Err(*error),
    };
    let flags = flags_for::<A>(described, Flags::NONE)?;
    // SAFETY: 1. It is borrowed from `lend`.
    unsafe { described.sync_for(consumer) }?;
    // SAFETY: 1. and 2. are 1. and 2. of this function.
    unsafe { packet.finish(described, flags) }
}

/// Exports with one more owner: [`DLPackExport::to_dlpack`] for either struct.
#[inline]
pub(crate) fn share_managed<A: Abi, T: DLPackExport + ?Sized>(
    tensor: &T,
    consumer: StreamArg<'_>,
) -> Result<ManagedTensor<A>, Error> {
    if A::HAS_FLAGS {
        // Both are the same type.
        return tensor.share_dlpack(consumer)?.try_into_abi().map_err(|_| Error::NotShareable);
    }
    share_by_any(tensor, consumer)
}

/// Exports with an owner of any type.
fn share_by_any<A: Abi, T: DLPackExport + ?Sized>(
    tensor: &T,
    consumer: StreamArg<'_>,
) -> Result<ManagedTensor<A>, Error> {
    let owner = tensor.share().ok_or(Error::NotShareable)?;
    share_by(tensor, owner, consumer)
}

/// [`DLPackExport::tensor`], once for all who rarely come there.
#[cold]
#[inline(never)]
pub(crate) fn tensor_of<T: DLPackExport + ?Sized>(tensor: &T) -> Result<TensorView<'_>, Error> {
    tensor.tensor_rarely()
}

/// What is wrong with a tensor that cannot be shared.
#[cold]
#[inline(never)]
fn not_shareable(view: Result<TensorView<'_>, Error>) -> Error {
    view.err().unwrap_or(Error::NotShareable)
}

/// Exports a copy: [`DLPackExport::copy_to_dlpack`] for either struct.
pub(crate) fn copy_managed<A: Abi, T: DLPackExport + ?Sized>(
    tensor: &T,
    consumer: StreamArg<'_>,
) -> Result<ManagedTensor<A>, Error> {
    // The consumer may be refused, and the copy will be used there. The processor copies.
    let stream = match consumer.kind() {
        StreamKind::Unspecified | StreamKind::OnHost => None,
        _ => Some(consumer),
    };
    let both = || stream.into_iter().chain([StreamArg::on_host()]);
    both().try_for_each(|consumer| tensor.sync_for(consumer))?;
    let view = tensor_of(tensor)?;
    both().try_for_each(|consumer| view.sync_for(consumer))?;
    copied_managed(Copied::of(&view)?)
}

/// Exports a copy that was made.
pub(crate) fn copied_managed<A: Abi>(copied: Copied) -> Result<ManagedTensor<A>, Error> {
    let placed = Packet::<A, Copied>::place(copied)?;
    // SAFETY: the copy is in its place, and nothing else borrows it. The borrow
    // is deemed alive until the deleter runs, and nobody names the copy until then.
    let lend = unsafe { &mut *placed.owner() }.lend()?;
    let flags = flags_for::<A>(lend.described(), Flags::IS_COPIED)?;
    // SAFETY: 1. `lend` was lent by the copy in its place, and nobody names it
    // after that. 2. A copy is `Send + 'static`, as asserted below.
    unsafe { placed.finish(lend.described(), flags) }
}

const _: () = {
    const fn sends<T: Send + 'static>() {}
    sends::<Copied>();
    sends::<SharedOwner>();
};

/// The flags of a description, or a refusal where the struct has no room for
/// one that must be said.
#[inline]
fn flags_for<A: Abi>(described: &Described<'_>, flags: Flags) -> Result<Flags, Error> {
    if !A::HAS_FLAGS && described.version() != Version::CURRENT {
        // It has no version that could say so.
        return Err(Error::UnsupportedDType { dtype: described.dtype() });
    }
    allowed::<A>(flags | described.flags())
}

/// Flags, if the struct has room for those that must be said.
#[inline]
fn allowed<A: Abi>(flags: Flags) -> Result<Flags, Error> {
    if A::HAS_FLAGS {
        Ok(flags)
    } else if flags.contains(Flags::READ_ONLY) {
        Err(Error::ReadOnlyLegacy)
    } else if flags.contains(Flags::IS_SUBBYTE_TYPE_PADDED) {
        Err(Error::PaddedLegacy)
    } else {
        Ok(flags)
    }
}
