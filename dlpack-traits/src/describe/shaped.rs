//! The builder of a tensor whose shape is set: [`Shaped`].

use super::amount::Amount;
use super::lists::Lists;
use super::order::Order;
use super::slot::INLINE;
use super::walk::ElementRange;
use crate::device::Device;
use crate::dims::{AsDims, Dim};
use crate::dtype::DataType;
use crate::error::Error;
use crate::strides::MAX_NDIM;

/// A tensor whose shape is described, and whose memory is not given yet; see
/// [`Describe`](super::Describe).
#[must_use = "a tensor is described by naming its data"]
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "most are constants at each call")]
pub struct Shaped<'a> {
    pub(super) lists: Lists<'a>,
    pub(super) strides: Strides,
    /// Stride of the slowest axis of a contiguous layout.
    pub(super) pitch: Option<Amount>,
    /// Distance from the start of the storage to the first element.
    pub(super) offset: Amount,
    /// Length of the part of the storage, from the offset on, that belongs to the tensor.
    pub(super) len: Option<Amount>,
    pub(super) dtype: Option<DataType>,
    pub(super) device: Option<Device>,
    pub(super) padded: bool,
    pub(super) read_only: bool,
    /// Whether it was stated that contiguous elements may use a part of the storage: by an offset, a
    /// length, a pitch, or as spare capacity.
    pub(super) partial: bool,
    /// Whether lists of strides may be longer than the shape.
    pub(super) ranked: bool,
    /// The addresses of shape and strides, if they are borrowed for `'a` from memory with
    /// the layout of `i64`s and equal the lists in the slot; otherwise NULL.
    pub(super) stored: [*const i64; 2],
    /// The elements that shape and strides reach. [`ElementRange::BEYOND`] if they need the slow
    /// path, or if `refused`.
    pub(super) reach: ElementRange,
    /// 1 if the explicit strides are known to name no element twice: see
    /// [`ElementRange::strided`]. Found in the loop that writes them (measured: 5 ns per export less
    /// than a loop of its own).
    pub(super) repeats: i64,
    /// Whether there was an error. The first one is stored in the slot.
    pub(super) refused: bool,
    /// Whether the only reason for `refused` is the list of the shape, so far.
    pub(super) unfit: bool,
}

/// The meaning of the strides in the slot.
#[derive(Clone, Copy, Debug)]
pub(super) enum Strides {
    /// Written by this crate, for a contiguous tensor.
    Contiguous(Order),
    /// Explicit, in elements.
    Elements,
    /// Explicit, in bytes.
    Bytes,
}

impl<'a> Shaped<'a> {
    #[inline(always)]
    pub(super) fn new((lists, reach, refused): (Lists<'a>, ElementRange, bool)) -> Self {
        Self {
            lists,
            reach,
            repeats: 0,
            refused,
            unfit: refused,
            strides: Strides::Contiguous(Order::RowMajor),
            pitch: None,
            offset: Amount::Bytes(0),
            len: None,
            dtype: None,
            device: None,
            padded: false,
            read_only: false,
            partial: false,
            ranked: false,
            stored: [core::ptr::null(); 2],
        }
    }

    /// A shape with explicit strides, and their addresses.
    #[inline(always)]
    pub(super) fn strided(
        (lists, reach, repeats, refused): (Lists<'a>, ElementRange, i64, bool),
        stored: [*const i64; 2],
    ) -> Self {
        let strides = Strides::Elements;
        Self { strides, repeats, stored, unfit: false, ..Self::new((lists, reach, refused)) }
    }

    /// Records the address of a borrowed shape.
    #[inline(always)]
    pub(super) fn stored_shape(mut self, stored: *const i64) -> Self {
        self.stored[0] = stored;
        self
    }

    /// Sets explicit strides in **elements**, one for each dimension. They may be negative,
    /// or 0 for a broadcast axis.
    ///
    /// Like the shape they are borrowed from the tensor; see
    /// [`strides_from`](Self::strides_from).
    #[inline(always)]
    pub fn strides<D: AsDims + ?Sized>(self, strides: &'a D) -> Self {
        let strides = strides.as_dims();
        let mut shaped = self.strides_from(strides);
        shaped.stored[1] = D::Dim::stored(strides);
        shaped
    }

    /// As [`strides`](Self::strides), from a list that need not outlive the call.
    #[inline(always)]
    pub fn strides_from<D: AsDims + ?Sized>(mut self, strides: &D) -> Self {
        let (mut strides, ndim) = (strides.as_dims(), self.lists.ndim());
        if self.ranked {
            let Some(used) = strides.get(..ndim) else {
                let (given, capacity) = (i64::try_from(ndim).unwrap_or(i64::MAX), strides.len());
                return self.refused(Error::RankBeyondCapacity { ndim: given, capacity });
            };
            strides = used;
        }
        // From here on the slot does not contain the strides that were borrowed before.
        self.stored[1] = core::ptr::null();
        let shaped = self.with_strides(strides);
        if shaped.pitch.is_some() { shaped.refused(Error::PitchBesideStrides) } else { shaped }
    }

    #[inline(always)]
    fn with_strides<I: Dim>(mut self, strides: &[I]) -> Self {
        let contiguous = match self.strides {
            Strides::Contiguous(_) => self.reach,
            // The reach of a contiguous tensor of this shape is not stored any more.
            Strides::Elements | Strides::Bytes => ElementRange::BEYOND,
        };
        self.strides = Strides::Elements;
        self.unfit = false;
        (self.reach, self.repeats, self.refused) =
            self.lists.set_strides(strides, contiguous, self.refused);
        self
    }

    /// Sets explicit strides in **bytes**, one for each dimension, each a multiple of the
    /// element size. The list need not outlive the call.
    #[inline(always)]
    pub fn byte_strides<D: AsDims + ?Sized>(self, strides: &D) -> Self {
        Self { strides: Strides::Bytes, ..self.strides_from(strides) }
    }

    /// Makes the elements contiguous in this order, and discards strides that were set
    /// before. Row-major is the default.
    #[inline(always)]
    pub fn order(mut self, order: impl Into<Order>) -> Self {
        let order = order.into();
        let before = self.strides;
        if !matches!(before, Strides::Contiguous(now) if now == order) {
            let (shape, strides) = self.lists.split_mut();
            order.write_strides(shape, strides);
            self.stored[1] = core::ptr::null();
            // The reach of a contiguous tensor does not depend on its order. That of a refused
            // description stays beyond all memory, because the fast path does not read
            // `refused`.
            if !matches!(before, Strides::Contiguous(_)) && !self.refused {
                self.reach = ElementRange::of(shape, strides);
            }
        }
        Self { strides: Strides::Contiguous(order), ..self }
    }

    /// Sets the stride of the slowest axis of a contiguous layout, in **elements**: the
    /// leading dimension of a padded matrix. [`Error::PitchTooSmall`] if it is smaller than a row:
    /// rows that overlap have [`strides`](Self::strides).
    #[inline(always)]
    pub fn pitch<I: Dim>(self, elements: I) -> Self {
        self.with_pitch(elements.to_i64().map(Amount::Elements))
    }

    /// Sets the stride of the slowest axis of a contiguous layout, in **bytes**: the row
    /// pitch of an image.
    #[inline(always)]
    pub fn byte_pitch<I: Dim>(self, bytes: I) -> Self {
        let bytes = bytes.to_i64().and_then(|bytes| u64::try_from(bytes).ok());
        self.with_pitch(bytes.map(Amount::Bytes))
    }

    #[inline(always)]
    fn with_pitch(self, pitch: Option<Amount>) -> Self {
        match (pitch, self.strides) {
            (None, _) => self.refused(Error::PitchOutOfRange),
            (_, Strides::Elements | Strides::Bytes) => self.refused(Error::PitchBesideStrides),
            (pitch, Strides::Contiguous(_)) => Self { pitch, partial: true, ..self },
        }
    }

    /// Keeps only the first `ndim` entries of shape and strides, for types that store them
    /// in arrays of a fixed capacity. If it is called between shape and strides, the two
    /// may have different capacities.
    ///
    /// [`shape_of_rank`](super::Describe::shape_of_rank) is faster: it does not read the other entries.
    #[inline(always)]
    pub fn rank<I: Dim>(self, ndim: I) -> Self {
        let (given, capacity) = (ndim.to_i64().unwrap_or(i64::MAX), self.lists.ndim());
        match usize::try_from(given) {
            Ok(ndim) if ndim <= capacity => {
                let shaped = match ndim {
                    _ if ndim == capacity => self,
                    _ if ndim <= INLINE => self.truncated::<INLINE>(ndim),
                    _ => self.truncated::<MAX_NDIM>(ndim),
                };
                Self { ranked: true, ..shaped }
            }
            _ => self.refused(Error::RankBeyondCapacity { ndim: given, capacity }),
        }
    }

    /// Accepts no list of strides that is longer than the shape.
    #[inline(always)]
    pub(crate) fn unranked(self) -> Self {
        Self { ranked: false, ..self }
    }

    /// Keeps the first `ndim` dimensions. There are at least `ndim`, and `ndim` is at most
    /// `N`.
    #[inline(never)]
    fn truncated<const N: usize>(mut self, ndim: usize) -> Self {
        // A refused description stays refused: its lists were not checked, and the borrowed
        // ones may differ from them.
        let fault = match self.fault() {
            // Entries that are not kept may be anything.
            Err(Error::DimTooLarge { axis }) if self.unfit && axis >= ndim => Ok(()),
            fault => fault,
        };
        let mut kept = [0; N];
        if let (Some(kept), Some(strides)) =
            (kept.get_mut(..ndim), self.lists.split().1.get(..ndim))
        {
            kept.copy_from_slice(strides);
        }
        let Shaped { lists, reach, refused, .. } = Self::new(self.lists.truncated::<N>(ndim));
        (self.lists, self.reach, self.refused) = (lists, reach, refused);
        let shaped = match self.strides {
            Strides::Contiguous(Order::RowMajor) => self,
            Strides::Contiguous(order) => Self { strides: Strides::Elements, ..self }.order(order),
            Strides::Elements | Strides::Bytes => {
                let kept = kept.get(..ndim).unwrap_or_default();
                let strides = self.strides;
                self.strides = Strides::Contiguous(Order::RowMajor);
                Self { strides, ..self.with_strides(kept) }
            }
        };
        match fault {
            Ok(()) => shaped,
            Err(error) => shaped.refused(error),
        }
    }

    /// Sets the offset of the first element in the storage, in **elements**.
    #[inline(always)]
    pub fn offset<I: Dim>(self, elements: I) -> Self {
        let (elements, fault) = match elements.to_i64() {
            Some(elements @ 0..) => (elements, None),
            Some(_) => (0, Some(Error::NegativeOffset)),
            None => (0, Some(Error::SizeOverflow)),
        };
        // Also a refused offset is one in elements, so that the unit is a constant in the
        // code of a type (measured: a borrowed view takes 12 ns otherwise, and 7 with it).
        let shaped = Self { offset: Amount::Elements(elements), partial: true, ..self };
        match fault {
            None => shaped,
            Some(fault) => shaped.refused(fault),
        }
    }

    /// Sets the offset of the first element in the storage, in **bytes**.
    #[inline(always)]
    pub fn byte_offset<I: Dim>(self, bytes: I) -> Self {
        match bytes.to_i64().map(u64::try_from) {
            Some(Ok(bytes)) => Self { offset: Amount::Bytes(bytes), partial: true, ..self },
            Some(Err(_)) => self.refused(Error::NegativeOffset),
            None => self.refused(Error::SizeOverflow),
        }
    }

    /// Restricts the tensor to that many **elements** of the storage from its offset on.
    #[inline(always)]
    pub fn len<I: Dim>(self, elements: I) -> Self {
        match elements.to_i64() {
            Some(elements @ 0..) => {
                Self { len: Some(Amount::Elements(elements)), partial: true, ..self }
            }
            _ => self.refused(Error::SizeOverflow),
        }
    }

    /// Restricts the tensor to that many **bytes** of the storage from its offset on.
    #[inline(always)]
    pub fn byte_len<I: Dim>(self, bytes: I) -> Self {
        match bytes.to_i64().map(u64::try_from) {
            Some(Ok(bytes)) => Self { len: Some(Amount::Bytes(bytes)), partial: true, ..self },
            _ => self.refused(Error::SizeOverflow),
        }
    }

    /// States that the storage may have spare capacity behind a contiguous tensor: any number of
    /// elements. Without this, an offset, a length or a pitch, a contiguous tensor uses all of its
    /// storage, or the last call returns [`Error::SpareCapacity`].
    ///
    /// ```
    /// use dlpack_traits::{DataRef, Error, Slot};
    ///
    /// let (buffer, mut slot) = ([0_f32; 8], Slot::new());
    /// let used = slot.describe().shape(&[3]).spare_capacity().data(DataRef::from_slice(&buffer))?;
    /// assert_eq!(used.shape(), [3]);
    /// # Ok::<(), Error>(())
    /// ```
    #[inline(always)]
    pub fn spare_capacity(self) -> Self {
        Self { partial: true, ..self }
    }

    /// Sets the element type. Byte storage (`u8`) is read as elements of this type; any
    /// other storage must already have it.
    #[inline(always)]
    pub fn dtype(self, dtype: impl Into<DataType>) -> Self {
        Self { dtype: Some(dtype.into()), ..self }
    }

    /// States the device, which must be the storage's.
    #[inline(always)]
    pub fn device(self, device: impl Into<Device>) -> Self {
        Self { device: Some(device.into()), ..self }
    }

    /// Marks elements narrower than a byte as padded to one byte each
    /// (IS_SUBBYTE_TYPE_PADDED). Without this they are packed.
    #[inline(always)]
    pub fn padded(self) -> Self {
        Self { padded: true, ..self }
    }

    /// Marks the tensor READ_ONLY, even if the storage allows writing.
    #[inline(always)]
    pub fn read_only(self) -> Self {
        Self { read_only: true, ..self }
    }

    /// Ends the description with this error, unless there was an error before.
    #[inline(always)]
    pub fn refused(mut self, error: Error) -> Self {
        if !self.refused {
            self.lists.refuse(error);
        }
        (self.refused, self.unfit, self.reach) = (true, false, ElementRange::BEYOND);
        self
    }

    /// Returns the first error, if there was one.
    #[inline(always)]
    pub(super) fn fault(&self) -> Result<(), Error> {
        if !self.refused {
            return Ok(());
        }
        // SAFETY: 1. If `refused` is set, `Lists::refuse` was called; then no place is
        // returned, and the struct is not written.
        Err(unsafe { self.lists.refusal() })
    }
}
