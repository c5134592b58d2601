//! Giving tensors away: [`DLPackExport`].

mod by_owner;
mod pointers;

pub(crate) use by_owner::{compact_managed, spanned_managed};

use crate::copy::Copied;
use crate::describe::{Describe, Description, DescriptionMut, Slot};
use crate::error::Error;
use crate::ffi::DLManagedTensor;
use crate::flags::Flags;
use crate::managed::{DescribeIn, Lend, ManagedTensor, Packet};
use crate::storage::{SharedOwner, Storage};
use crate::stream::{StreamArg, StreamKind};
use crate::view::TensorView;

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
/// use dlpack_traits::{DLPackExport, Describe, Description, Error, Flags, Storage};
///
/// struct Image {
///     pixels: Arc<[u8]>,
///     shape: [usize; 3],
/// }
///
/// impl DLPackExport for Image {
///     fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
///         out.shape(&self.shape).data(self.pixels.data())
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
    /// Describes the tensor in the place where its consumer reads it. Every export refuses
    /// a tensor that was described in another [`Slot`].
    ///
    /// # Errors
    ///
    /// Those of [`Shaped::data`](crate::Shaped::data), and whatever keeps the value in its
    /// present state from being a tensor.
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error>;

    /// [`describe`](Self::describe) with as much freedom as the storage can give away. By
    /// default that is reading only.
    ///
    /// # Errors
    ///
    /// Those of [`describe`](Self::describe).
    #[inline(always)]
    fn describe_mut<'a>(&'a mut self, out: Describe<'a>) -> Result<DescriptionMut<'a>, Error> {
        self.describe(out).map(DescriptionMut::from)
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

    /// The tensor, borrowed.
    ///
    /// # Errors
    ///
    /// Those of [`describe`](Self::describe).
    #[inline]
    fn tensor(&self) -> Result<TensorView<'_>, Error> {
        TensorView::of(|out| self.describe(out))
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
    /// Those of [`describe_mut`](Self::describe_mut), and [`Error::OutOfMemory`]; the owner is
    /// then dropped.
    #[inline]
    fn into_dlpack(self) -> Result<ManagedTensor, Error>
    where
        Self: Sized + Send + 'static,
    {
        into_managed(self, StreamArg::unspecified())
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
        into_managed(self, consumer)
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
        into_managed(self, StreamArg::unspecified())?.into_legacy()
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
        share_managed(self, consumer)
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

/// Exports by value: [`DLPackExport::into_dlpack`], synchronized with the consumer.
#[inline(always)]
pub(crate) fn into_managed<T: DLPackExport + Send + 'static>(
    owner: T,
    consumer: StreamArg<'_>,
) -> Result<ManagedTensor, Error> {
    // The order of these steps is the proof; see docs/SAFETY.md.
    let placed = Packet::place(owner)?;
    placed.owner().sync_for(consumer)?;
    placed.lend(AsExport, consumer, Flags::NONE)
}

/// Exports with one more owner: [`DLPackExport::to_dlpack`].
#[inline(always)]
pub(crate) fn share_managed<T: DLPackExport + ?Sized>(
    tensor: &T,
    consumer: StreamArg<'_>,
) -> Result<ManagedTensor, Error> {
    let Some(owner) = tensor.share() else { return Err(not_shareable(tensor)) };
    // First, so that a hook that panics finds the owner where a panic of its drop is caught.
    let placed = Packet::place_shared(owner)?;
    tensor.sync_for(consumer)?;
    placed.lend_in(tensor, consumer)
}

/// What keeps a tensor from being shared: what keeps it from being a tensor, if anything.
#[cold]
#[inline(never)]
fn not_shareable<T: DLPackExport + ?Sized>(tensor: &T) -> Error {
    tensor.describe(Slot::new().describe()).err().unwrap_or(Error::NotShareable)
}

/// [`DLPackExport::tensor`], once for each type, for callers on slow paths.
#[cold]
#[inline(never)]
pub(crate) fn tensor_of<T: DLPackExport + ?Sized>(tensor: &T) -> Result<TensorView<'_>, Error> {
    tensor.tensor()
}

/// Exports a copy: [`DLPackExport::copy_to_dlpack`].
pub(crate) fn copy_managed<T: DLPackExport + ?Sized>(
    tensor: &T,
    consumer: StreamArg<'_>,
) -> Result<ManagedTensor, Error> {
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
pub(crate) fn copied_managed(copied: Copied) -> Result<ManagedTensor, Error> {
    Packet::place(copied)?.lend(AsCopied, StreamArg::unspecified(), Flags::IS_COPIED)
}

/// An owner lends its memory as its implementation of [`DLPackExport`] says.
pub(crate) struct AsExport;

impl<O: DLPackExport> Lend<O> for AsExport {
    #[inline(always)]
    fn lend<'x>(self, owner: &'x mut O, out: Describe<'x>) -> Result<DescriptionMut<'x>, Error> {
        owner.describe_mut(out)
    }
}

impl<'t, T: DLPackExport + ?Sized> DescribeIn<'t> for &'t T {
    #[inline(always)]
    fn describe_in(self, out: Describe<'t>) -> Result<Description<'t>, Error> {
        self.describe(out)
    }
}

/// A copy lends all of its memory.
struct AsCopied;

impl Lend<Copied> for AsCopied {
    fn lend<'x>(
        self,
        owner: &'x mut Copied,
        out: Describe<'x>,
    ) -> Result<DescriptionMut<'x>, Error> {
        owner.describe_mut(out)
    }
}

const _: () = {
    const fn sends<T: Send + 'static>() {}
    sends::<Copied>();
    sends::<SharedOwner>();
};
