//! Exports: [`DLPackExport`].

mod field_tensor;
mod from_storage;
mod owned_tensor;
mod pointers;
mod shared_tensor;

pub use field_tensor::{FieldTensor, Records};
pub(crate) use from_storage::{compact_managed, spanned_managed};
pub use owned_tensor::OwnedTensor;
pub use shared_tensor::SharedTensor;

use crate::copy::Copied;
use crate::describe::{Describe, Description, DescriptionMut};
use crate::element::RecordType;
use crate::error::Error;
use crate::ffi::DLManagedTensor;
use crate::flags::Flags;
use crate::managed::{DescribeIn, Lend, ManagedTensor, Packet};
use crate::storage::{SharedOwner, Storage};
use crate::stream_arg::{StreamArg, StreamKind};
use crate::view::TensorView;

/// A type that can be exported to other libraries as a tensor.
///
/// Usually `derive(DLPackExport)` generates the implementation. An implementation by hand
/// needs no `unsafe` either: the type *lends* its memory and describes the layout of the
/// elements, and the export validates the description. If the implementation panics, the
/// export drops the owner, catches a panic of that drop (with `std`), and propagates the
/// first panic.
///
/// | export | the object afterwards | a consumer may write |
/// |---|---|---|
/// | [`into_dlpack`](Self::into_dlpack) | is moved | if the storage has a single owner, [`describe_mut`](Self::describe_mut) lends it for writing, and its element type has no invalid bit patterns (`bool` has some; a struct that derives `Element` without `any_bits` counts as having some); or if the storage shares write access |
/// | [`to_dlpack`](Self::to_dlpack) | stays usable | if the storage shares write access |
/// | [`copy_to_dlpack`](Self::copy_to_dlpack) | stays usable | yes, into its own copy |
/// | [`tensor`](Self::tensor) and [`TensorView::dl_tensor`] | is borrowed | if the storage shares write access |
///
/// Storages that share write access are, for example, a [`SharedBuffer`](crate::SharedBuffer), an
/// [`ImportedStorage`](crate::ImportedStorage) that was imported writable, and a
/// [`DeviceBuffer`](crate::backend::DeviceBuffer). A layout whose elements may overlap is always
/// READ_ONLY.
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
/// assert_eq!(shared.data_ptr(), image.pixels.as_ptr());
/// assert_eq!(shared.flags(), Flags::READ_ONLY);
/// # Ok::<(), Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tensor that DLPack can export",
    note = "add `#[derive(DLPackExport)]` to `{Self}`, or implement `dlpack_traits::DLPackExport`; if it is another crate's, do so for a struct that holds it; an array of `ndarray` needs the feature for its version, such as `ndarray_0_16`",
    note = "a list of elements has no shape: mark it `#[dlpack(data)]` in a struct with a `shape`"
)]
pub trait DLPackExport {
    /// Describes the tensor: writes its shape, strides and memory to `out`, and returns the
    /// [`Description`] that `out` made. An export rejects a `Description` that was made from another
    /// [`Describe`] ([`Error::Custom`]).
    ///
    /// With `#[inline(always)]` on this method, an implementation by hand is as fast as a derived
    /// one. Without it, `to_dlpack` of a struct with strides and an offset takes 22 ns instead of
    /// 17.5.
    ///
    /// # Errors
    ///
    /// Those of [`Layout::data`](crate::Layout::data); [`Error::Custom`] if the value cannot be
    /// described in its current state.
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error>;

    /// As [`describe`](Self::describe), with the most access that the storage can grant.
    /// The default grants what `describe` does.
    ///
    /// # Errors
    ///
    /// Those of [`describe`](Self::describe).
    #[inline(always)]
    fn describe_mut<'a>(&'a mut self, out: Describe<'a>) -> Result<DescriptionMut<'a>, Error> {
        self.describe(out).map(DescriptionMut::from)
    }

    /// The storage of the elements. The default of [`share`](Self::share) forwards to it.
    ///
    /// The default is `None`: override it (or `share`), or [`to_dlpack`](Self::to_dlpack) fails
    /// with [`Error::NotShareable`].
    #[inline]
    fn storage(&self) -> Option<&dyn Storage> {
        None
    }

    /// Synchronizes work that the storage does not track, such as another thread that fills
    /// the memory. The default does nothing.
    ///
    /// Every export except [`tensor`](Self::tensor) calls this first, and then synchronizes the
    /// storage itself: a [`DeviceBuffer`] orders its own work. Implement this method only for work
    /// that the storage does not know; it need not call the storage.
    ///
    /// [`DeviceBuffer`]: crate::backend::DeviceBuffer
    ///
    /// # Errors
    ///
    /// The reason why the work cannot be waited for.
    #[inline]
    fn sync_for(&self, consumer: StreamArg<'_>) -> Result<(), Error> {
        let _ = consumer;
        Ok(())
    }

    /// Returns another owner of the same memory, if the [`storage`](Self::storage) supports
    /// several owners.
    #[inline]
    fn share(&self) -> Option<SharedOwner> {
        self.storage()?.share()
    }

    /// The fields of the elements, if they are records: those of the [`storage`](Self::storage) by
    /// default. DLPack has no records, so the tensor is that of their bytes, in a last axis; NumPy
    /// gets the structured dtype.
    #[inline]
    fn record_type(&self) -> Option<&'static RecordType> {
        self.storage()?.record_type()
    }

    /// Borrows the object as a tensor. This synchronizes nothing: call [`sync_for`](Self::sync_for)
    /// of the object and [`TensorView::sync_for`] before another library uses the view, if work on
    /// the memory can be pending.
    ///
    /// # Errors
    ///
    /// Those of [`describe`](Self::describe).
    #[inline]
    fn tensor(&self) -> Result<TensorView<'_>, Error> {
        TensorView::of(|out| self.describe(out))
    }

    /// Checks the layout of the object against its memory, as every export does. A constructor that
    /// ends with it returns the error, instead of the first export.
    ///
    /// ```
    /// use dlpack_traits::{DLPackExport, Error};
    ///
    /// #[derive(DLPackExport)]
    /// #[dlpack(shape(frames, bins), strides(hop, 1))]
    /// struct Spectrogram {
    ///     data: Vec<f32>,
    ///     frames: usize,
    ///     bins: usize,
    ///     hop: usize,
    /// }
    ///
    /// impl Spectrogram {
    ///     fn new(data: Vec<f32>, frames: usize, bins: usize, hop: usize) -> Result<Self, Error> {
    ///         let spectrogram = Self { data, frames, bins, hop };
    ///         spectrogram.validate()?;
    ///         Ok(spectrogram)
    ///     }
    /// }
    ///
    /// assert!(Spectrogram::new(vec![0.0; 7], 3, 3, 2).is_ok());
    /// let long = Spectrogram::new(vec![0.0; 7], 4, 3, 2).map(|_| ());
    /// assert_eq!(long, Err(Error::OutOfBounds { start: 0, end: 36, len: 28 }));
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`tensor`](Self::tensor).
    #[inline]
    fn validate(&self) -> Result<(), Error> {
        self.tensor().map(drop)
    }

    /// Exports the tensor together with its owner, which the deleter drops, on any thread.
    /// It makes one allocation, and a second one for more than 8 dimensions. A value that borrows is not
    /// `'static` ("does not live long enough"): use [`tensor`](Self::tensor) or
    /// [`copy_to_dlpack`](Self::copy_to_dlpack).
    ///
    /// The table of the [trait](Self) says when consumers may write. For a storage with a single
    /// owner, an implementation by hand must also override [`describe_mut`](Self::describe_mut);
    /// otherwise the tensor is READ_ONLY. A layout whose elements may overlap is always READ_ONLY.
    ///
    /// # Errors
    ///
    /// Those of [`describe_mut`](Self::describe_mut), [`sync_for`](Self::sync_for) and
    /// [`TensorView::sync_for`], and [`Error::OutOfMemory`]; the owner is then dropped, but returned by
    /// [`try_into_dlpack`](Self::try_into_dlpack).
    #[inline]
    fn into_dlpack(self) -> Result<ManagedTensor, Error>
    where
        Self: Sized + Send + 'static,
    {
        export_owned(self, StreamArg::unspecified())
    }

    /// As [`into_dlpack`](Self::into_dlpack), but returns the value with the error. An
    /// [`OwnedTensor`](crate::OwnedTensor) of `bool` is then READ_ONLY.
    ///
    /// ```
    /// use dlpack_traits::{DLPackExport, Error};
    ///
    /// #[derive(DLPackExport)]
    /// struct Image {
    ///     data: Vec<u8>,
    ///     shape: [usize; 2],
    /// }
    ///
    /// let image = Image { data: vec![0; 6], shape: [2, 4] };
    /// let (mut image, error) = image.try_into_dlpack().unwrap_err();
    /// assert_eq!(error, Error::OutOfBounds { start: 0, end: 8, len: 6 });
    /// image.shape = [2, 3];
    /// assert_eq!(image.into_dlpack()?.shape(), [2, 3]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of `into_dlpack`.
    fn try_into_dlpack(self) -> Result<ManagedTensor, (Self, Error)>
    where
        Self: Sized + Send + 'static,
    {
        let packet = Packet::try_place(self)?;
        let consumer = StreamArg::unspecified();
        match packet.owner().sync_for(consumer) {
            Ok(()) => packet.try_lend(AsExport, consumer),
            Err(error) => Err((packet.take(), error)),
        }
    }

    /// As [`into_dlpack`](Self::into_dlpack), for a consumer that names the stream on which
    /// it will use the tensor.
    ///
    /// # Errors
    ///
    /// Those of `into_dlpack`.
    #[inline]
    fn into_dlpack_on(self, consumer: StreamArg<'_>) -> Result<ManagedTensor, Error>
    where
        Self: Sized + Send + 'static,
    {
        export_owned(self, consumer)
    }

    /// As [`into_dlpack`](Self::into_dlpack), for consumers that need the legacy struct
    /// (before DLPack 1.0).
    ///
    /// # Errors
    ///
    /// Those of `into_dlpack`; and for a tensor that the legacy struct cannot express,
    /// [`Error::ReadOnlyLegacy`] if it would be READ_ONLY, [`Error::PaddedLegacy`] for padded
    /// elements narrower than a byte, and [`Error::UnsupportedDType`] for imported elements of a
    /// type that a later version of DLPack added.
    #[inline]
    fn into_dlpack_legacy(self) -> Result<ManagedTensor<DLManagedTensor>, Error>
    where
        Self: Sized + Send + 'static,
    {
        export_owned(self, StreamArg::unspecified())?.into_legacy()
    }

    /// Exports the tensor with an additional owner of its memory, and leaves the object
    /// usable. It makes one allocation, one more for more than 8 dimensions, and one more for a
    /// storage whose `size_of` is more than four words.
    ///
    /// The tensor is READ_ONLY, unless the storage shares write access.
    ///
    /// # Errors
    ///
    /// Those of [`tensor`](Self::tensor), [`sync_for`](Self::sync_for) and
    /// [`TensorView::sync_for`], [`Error::NotShareable`] if the storage has a
    /// single owner, [`Error::ShareOutOfRange`] if a hand-written [`share`](Self::share)
    /// returns an owner of other memory, and [`Error::OutOfMemory`].
    #[inline]
    fn to_dlpack(&self) -> Result<ManagedTensor, Error> {
        self.to_dlpack_on(StreamArg::unspecified())
    }

    /// As [`to_dlpack`](Self::to_dlpack), for a consumer that names the stream on which it
    /// will use the tensor.
    ///
    /// # Errors
    ///
    /// Those of `to_dlpack`.
    #[inline]
    fn to_dlpack_on(&self, consumer: StreamArg<'_>) -> Result<ManagedTensor, Error> {
        export_shared(self, consumer)
    }

    /// Exports a copy of the elements, contiguous in row-major order and aligned to 64
    /// bytes. Only the consumer owns the copy (IS_COPIED), and may write it.
    ///
    /// # Errors
    ///
    /// Those of [`tensor`](Self::tensor), [`sync_for`](Self::sync_for) and
    /// [`TensorView::sync_for`]; [`Error::NotOnHost`] unless
    /// [`Device::is_host`](crate::Device::is_host); [`Error::PackedStrides`] for packed elements
    /// that are not contiguous, and [`Error::OutOfMemory`].
    fn copy_to_dlpack(&self) -> Result<ManagedTensor, Error> {
        export_copy(self, StreamArg::unspecified())
    }
}

/// Exports by value: [`DLPackExport::into_dlpack`], synchronized with the consumer.
#[inline(always)]
pub(crate) fn export_owned<T: DLPackExport + Send + 'static>(
    owner: T,
    consumer: StreamArg<'_>,
) -> Result<ManagedTensor, Error> {
    // The safety proof relies on the order of these steps; see docs/soundness.md.
    let packet = Packet::place(owner)?;
    packet.owner().sync_for(consumer)?;
    packet.lend(AsExport, consumer, Flags::NONE)
}

/// Exports with an additional owner: [`DLPackExport::to_dlpack`].
#[inline(always)]
pub(crate) fn export_shared<T: DLPackExport + ?Sized>(
    tensor: &T,
    consumer: StreamArg<'_>,
) -> Result<ManagedTensor, Error> {
    let packet = match tensor.share() {
        // First, so that `Packet` drops the owner if a hook panics, and catches a second
        // panic.
        Some(owner) => Some(Packet::place_shared(owner)?),
        None => None,
    };
    if packet.is_some() {
        tensor.sync_for(consumer)?;
    }
    Packet::lend_in(packet, tensor, consumer)
}

/// Exports a copy: [`DLPackExport::copy_to_dlpack`].
pub(crate) fn export_copy<T: DLPackExport + ?Sized>(
    tensor: &T,
    consumer: StreamArg<'_>,
) -> Result<ManagedTensor, Error> {
    // Synchronizes with the consumer first, which may reject its stream and which will use
    // the copy, then with the processor, which makes the copy.
    let stream = match consumer.kind() {
        StreamKind::Unspecified | StreamKind::OnHost => None,
        _ => Some(consumer),
    };
    let both = || stream.into_iter().chain([StreamArg::on_host()]);
    both().try_for_each(|consumer| tensor.sync_for(consumer))?;
    let view = tensor.tensor()?;
    both().try_for_each(|consumer| view.sync_for(consumer))?;
    copied_managed(Copied::of(&view)?)
}

/// Exports a finished copy.
pub(crate) fn copied_managed(copied: Copied) -> Result<ManagedTensor, Error> {
    Packet::place(copied)?.lend(AsCopied, StreamArg::unspecified(), Flags::IS_COPIED)
}

/// Exports memory that was moved out of its tensor, by value.
pub(crate) fn moved_managed(
    moved: Copied,
    consumer: StreamArg<'_>,
) -> Result<ManagedTensor, Error> {
    Packet::place(moved)?.lend(AsCopied, consumer, Flags::NONE)
}

/// Lends the memory of an owner by its implementation of [`DLPackExport`].
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

/// Lends all memory of a copy.
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
