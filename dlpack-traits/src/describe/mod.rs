//! How a type says where the elements of its tensor lie, and the check of what it says:
//! [`Describe`].
//!
//! Shape and strides are written once, as `i64`s, into the [`Slot`] where the consumer
//! reads them. What else is said stays in registers until the memory is named; then all
//! of it is checked against the length of that memory, and the C struct is written.

mod check;
mod slot;
#[cfg(test)]
mod tests;
mod units;
mod walk;

use core::marker::PhantomData;
use core::ptr::NonNull;

use crate::described::{Amount, Order};
use crate::device::Device;
use crate::dims::Dim;
use crate::dtype::DataType;
use crate::error::Error;
use crate::storage::{Data, DataRef};

use check::Checked;
use slot::Lists;
pub(crate) use slot::Slot;

/// The right to describe one tensor in one [`Slot`].
pub(crate) struct Describe<'a> {
    slot: NonNull<Slot>,
    life: PhantomData<&'a mut Slot>,
}

impl<'a> Describe<'a> {
    /// # Safety
    ///
    /// 1. `slot` points to a slot that the result alone accesses for `'a`.
    /// 2. Its `spill` is initialised.
    #[inline(always)]
    pub(crate) unsafe fn at(slot: NonNull<Slot>) -> Self {
        Self { slot, life: PhantomData }
    }

    /// Starts with the shape: the extents, from the slowest axis to the fastest in
    /// row-major order.
    ///
    /// An extent that does not fit in 64 signed bits is reported at the end, by
    /// [`data`](Shaped::data) or [`data_mut`](Shaped::data_mut).
    #[inline(always)]
    pub(crate) fn shape<I: Dim>(self, shape: &[I]) -> Shaped<'a> {
        // SAFETY: 1. Guaranteed by 1 and 2 of `at`.
        let (lists, fault) = unsafe { Lists::new(self.slot, shape) };
        Shaped {
            lists,
            strides: Strides::Contiguous(Order::RowMajor),
            pitch: None,
            offset: Amount::Bytes(0),
            len: None,
            dtype: None,
            device: None,
            padded: false,
            read_only: false,
            fault,
        }
    }
}

/// A tensor whose shape is written, and whose memory is not named yet.
pub(crate) struct Shaped<'a> {
    lists: Lists<'a>,
    strides: Strides,
    /// Step of the slowest axis of a contiguous layout.
    pitch: Option<Amount>,
    /// From the start of the storage to the first element.
    offset: Amount,
    /// How much of the storage, from the offset on, belongs to the tensor.
    len: Option<Amount>,
    dtype: Option<DataType>,
    device: Option<Device>,
    padded: bool,
    read_only: bool,
    /// The first error; the rest was not looked at.
    fault: Option<Error>,
}

/// What the strides in the slot mean.
#[derive(Clone, Copy)]
enum Strides {
    /// There are none yet.
    Contiguous(Order),
    /// They count elements.
    Elements,
    /// They count bytes.
    Bytes,
}

impl<'a> Shaped<'a> {
    /// Explicit strides in **elements**, one for each dimension.
    #[inline(always)]
    pub(crate) fn strides<I: Dim>(mut self, strides: &[I]) -> Self {
        match self.lists.set_strides(strides) {
            Ok(()) => self.strides = Strides::Elements,
            Err(error) => return self.failed(error),
        }
        if self.pitch.is_some() { self.failed(Error::PitchBesideStrides) } else { self }
    }

    /// Explicit strides in **bytes**, one for each dimension, each a whole number of
    /// elements.
    #[inline(always)]
    pub(crate) fn byte_strides<I: Dim>(self, strides: &[I]) -> Self {
        Self { strides: Strides::Bytes, ..self.strides(strides) }
    }

    /// Contiguous elements in this order. Row-major is the default.
    #[inline(always)]
    pub(crate) fn order(self, order: impl Into<Order>) -> Self {
        Self { strides: Strides::Contiguous(order.into()), ..self }
    }

    /// The step of the slowest axis of a contiguous layout, in **elements**: the leading
    /// dimension of a padded matrix.
    #[inline(always)]
    pub(crate) fn pitch<I: Dim>(self, elements: I) -> Self {
        self.with_pitch(elements.to_i64().map(Amount::Elements))
    }

    /// The step of the slowest axis of a contiguous layout, in **bytes**: the row pitch
    /// of an image.
    #[inline(always)]
    pub(crate) fn byte_pitch<I: Dim>(self, bytes: I) -> Self {
        let bytes = bytes.to_i64().and_then(|bytes| u64::try_from(bytes).ok());
        self.with_pitch(bytes.map(Amount::Bytes))
    }

    #[inline(always)]
    fn with_pitch(self, pitch: Option<Amount>) -> Self {
        match (pitch, self.strides) {
            (None, _) => self.failed(Error::PitchOutOfRange),
            (_, Strides::Elements | Strides::Bytes) => self.failed(Error::PitchBesideStrides),
            (pitch, Strides::Contiguous(_)) => Self { pitch, ..self },
        }
    }

    /// Keeps only the first `ndim` entries of shape and strides, which the type stores in
    /// arrays of a fixed capacity.
    #[inline(always)]
    pub(crate) fn rank<I: Dim>(mut self, ndim: I) -> Self {
        let (given, capacity) = (ndim.to_i64().unwrap_or(i64::MAX), self.lists.ndim());
        match usize::try_from(given) {
            Ok(ndim) if ndim == capacity => self,
            Ok(ndim) if ndim < capacity => {
                self.lists.truncate(ndim);
                self
            }
            _ => self.failed(Error::RankBeyondCapacity { ndim: given, capacity }),
        }
    }

    /// Elements from the start of the storage to the first one of the tensor.
    #[inline(always)]
    pub(crate) fn offset<I: Dim>(self, elements: I) -> Self {
        match elements.to_i64() {
            Some(elements @ 0..) => Self { offset: Amount::Elements(elements), ..self },
            Some(_) => self.failed(Error::NegativeOffset),
            None => self.failed(Error::SizeOverflow),
        }
    }

    /// Bytes from the start of the storage to the first element of the tensor.
    #[inline(always)]
    pub(crate) fn byte_offset<I: Dim>(self, bytes: I) -> Self {
        match bytes.to_i64().map(u64::try_from) {
            Some(Ok(bytes)) => Self { offset: Amount::Bytes(bytes), ..self },
            Some(Err(_)) => self.failed(Error::NegativeOffset),
            None => self.failed(Error::SizeOverflow),
        }
    }

    /// Restricts the tensor to that many **elements** of the storage from its offset on.
    #[inline(always)]
    pub(crate) fn len<I: Dim>(self, elements: I) -> Self {
        match elements.to_i64() {
            Some(elements @ 0..) => Self { len: Some(Amount::Elements(elements)), ..self },
            _ => self.failed(Error::SizeOverflow),
        }
    }

    /// Restricts the tensor to that many **bytes** of the storage from its offset on.
    #[inline(always)]
    pub(crate) fn byte_len<I: Dim>(self, bytes: I) -> Self {
        match bytes.to_i64().map(u64::try_from) {
            Some(Ok(bytes)) => Self { len: Some(Amount::Bytes(bytes)), ..self },
            _ => self.failed(Error::SizeOverflow),
        }
    }

    /// Reads byte storage (`u8`) as elements of this type. A storage of another type must
    /// already have it.
    #[inline(always)]
    pub(crate) fn dtype(self, dtype: impl Into<DataType>) -> Self {
        Self { dtype: Some(dtype.into()), ..self }
    }

    /// States the device. It must be the storage's.
    #[inline(always)]
    pub(crate) fn device(self, device: impl Into<Device>) -> Self {
        Self { device: Some(device.into()), ..self }
    }

    /// Gives each element that is narrower than a byte a byte of its own
    /// (IS_SUBBYTE_TYPE_PADDED). Without this they are packed.
    #[inline(always)]
    pub(crate) fn padded(self) -> Self {
        Self { padded: true, ..self }
    }

    /// Tells consumers not to write, whatever the storage allows.
    #[inline(always)]
    pub(crate) fn read_only(self) -> Self {
        Self { read_only: true, ..self }
    }

    /// Names the memory, lent for reading or for sharing, and checks everything.
    ///
    /// # Errors
    ///
    /// Any [`Error`] but those of exporting and copying: every element must lie inside
    /// the memory and be aligned, ranks must agree, the element type must be one that the
    /// standard defines and that fits the storage.
    #[inline(always)]
    pub(crate) fn data(self, data: DataRef<'a>) -> Result<Description<'a>, Error> {
        self.check(data.memory_ref()).map(|checked| Description { checked })
    }

    /// [`data`](Self::data) for memory that is lent with as much freedom as the storage can
    /// give away.
    ///
    /// # Errors
    ///
    /// Those of [`data`](Self::data).
    #[inline(always)]
    pub(crate) fn data_mut(self, data: Data<'a>) -> Result<DescriptionMut<'a>, Error> {
        self.check(&data.into_memory()).map(|checked| DescriptionMut { checked })
    }

    /// Inline, so that what was said stays in registers.
    #[inline(always)]
    fn failed(mut self, error: Error) -> Self {
        if self.fault.is_none() {
            self.fault = Some(error);
        }
        self
    }
}

/// A tensor in lent memory that was described and checked.
#[derive(Debug)]
pub(crate) struct Description<'a> {
    checked: Checked<'a>,
}

/// A [`Description`] of memory that may be lent for writing.
#[derive(Debug)]
pub(crate) struct DescriptionMut<'a> {
    checked: Checked<'a>,
}

impl<'a> From<Description<'a>> for DescriptionMut<'a> {
    #[inline(always)]
    fn from(description: Description<'a>) -> Self {
        Self { checked: description.checked }
    }
}
