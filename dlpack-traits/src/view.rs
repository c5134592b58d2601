//! A borrowed tensor as a value that can be moved: [`TensorView`].

use core::fmt;
use core::marker::PhantomData;
use core::slice;

use crate::describe::{Describe, Description, Facts, Layout, Slot, SlotMut, stored_bits};
use crate::device::Device;
use crate::dtype::DataType;
use crate::error::Error;
use crate::ffi::DLTensor;
use crate::storage::DataRef;
use crate::stream_arg::StreamArg;

/// A borrowed tensor: memory, element type, shape and strides, all checked against the
/// length of the storage.
///
/// It stores its own shape and strides, which makes it large to move. If a tensor is needed
/// for one call only, a [`Slot`] on the stack and a [`Description`] are faster.
///
/// ```
/// use dlpack_traits::{DataRef, DataType, Layout, TensorView};
///
/// let samples = vec![0.5_f32; 6];
/// let view = TensorView::new(DataRef::from_slice(&samples), Layout::new([2, 3]))?;
/// assert_eq!(view.dtype(), DataType::F32);
/// assert_eq!(view.strides(), [3, 1]);
/// # Ok::<(), dlpack_traits::Error>(())
/// ```
pub struct TensorView<'a> {
    /// Invariant: a tensor was described in it. The pointers to its lists may be outdated,
    /// because the slot may have been moved since.
    slot: Slot,
    facts: Facts,
    lent: PhantomData<&'a [u8]>,
}

impl<'a> TensorView<'a> {
    /// Describes lent memory.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfBounds`], [`Error::OutsideWindow`], [`Error::SpareCapacity`],
    /// [`Error::Misaligned`], [`Error::RankMismatch`], [`Error::NegativeDim`], [`Error::TooManyDims`],
    /// [`Error::SizeOverflow`], [`Error::UnsupportedDType`], [`Error::DTypeMismatch`],
    /// [`Error::DeviceMismatch`], those of pitches, strides and offsets, that of
    /// [`DataRef::refused`], and [`Error::OutOfMemory`] if memory for more than 8 dimensions
    /// cannot be allocated. Also those of numbers that do not fit: [`Error::DimTooLarge`],
    /// [`Error::StrideTooLarge`], [`Error::RankBeyondCapacity`].
    ///
    /// [`Error::StridesMissing`] if the layout has no strides, and its shape or element type is not
    /// the one with which strided memory was imported ([`ImportedStorage`](crate::ImportedStorage)).
    #[inline]
    pub fn new(data: DataRef<'a>, layout: Layout<'a>) -> Result<Self, Error> {
        Self::of(|out| out.layout(layout).data(data))
    }

    /// Creates a view of the tensor that a function describes.
    #[inline(always)]
    pub(crate) fn of(
        describe: impl FnOnce(Describe<'a>) -> Result<Description<'a>, Error>,
    ) -> Result<Self, Error> {
        let mut slot = Slot::new();
        let place = &raw mut slot;
        // SAFETY: 1. Until `into_facts` returns, only the result accesses the slot, which is alive.
        // `'a` may be longer, so nothing that is used after this function may still borrow the
        // slot for `'a`. `Describe` is consumed by the shape, and its slot passes to one
        // description: the one that is returned, which ends here; or one that `describe` keeps
        // (`Box::leak`), and then the returned one was made in another slot, which
        // `into_facts` rejects by its address (A18). Each way from a `Description` to a borrow
        // of its slot for `'a` must consume the description, or borrow it.
        // 2. `new` initialized the spill.
        let out = Describe::new(unsafe { SlotMut::at(place) });
        let checked = describe(out)?.into_checked();
        let facts = checked.into_facts(place)?;
        Ok(Self { slot, facts, lent: PhantomData })
    }

    #[inline]
    fn raw(&self) -> &DLTensor {
        // SAFETY: by the invariant of `slot` a tensor was described in it.
        unsafe { self.slot.tensor().assume_init_ref() }
    }

    /// Number of dimensions.
    #[inline]
    pub fn ndim(&self) -> usize {
        usize::try_from(self.raw().ndim).unwrap_or(0)
    }

    /// Shape: the size of each dimension, in elements.
    #[inline]
    pub fn shape(&self) -> &[i64] {
        let [shape, _] = self.slot.lists();
        // SAFETY: by the invariant of `slot` its lists have `ndim` numbers each, which no one writes to
        // while it is borrowed.
        unsafe { slice::from_raw_parts(shape, self.ndim()) }
    }

    /// Strides, in elements; they are always present.
    #[inline]
    pub fn strides(&self) -> &[i64] {
        let [_, strides] = self.slot.lists();
        // SAFETY: as for `shape`.
        unsafe { slice::from_raw_parts(strides, self.ndim()) }
    }

    /// Number of elements.
    pub fn numel(&self) -> i64 {
        // The product was checked; but with a zero in it, a partial product may overflow.
        if self.shape().contains(&0) { 0 } else { self.shape().iter().product() }
    }

    /// Type of the elements.
    #[inline]
    pub fn dtype(&self) -> DataType {
        self.raw().dtype.into()
    }

    /// Device of the memory.
    #[inline]
    pub fn device(&self) -> Device {
        self.raw().device.into()
    }

    /// Whether consumers must not write: the storage grants reading only, two elements may
    /// overlap, or [`into_read_only`](Self::into_read_only) was called.
    pub fn is_read_only(&self) -> bool {
        self.facts.is_read_only()
    }

    /// Address of the first element; NULL if the tensor is empty. On a device without
    /// addresses, the device's handle of the memory.
    pub fn data_ptr(&self) -> *const u8 {
        self.raw().data.cast_const().cast()
    }

    /// Orders pending work on the memory before the work of a consumer on its stream.
    ///
    /// Every export of an owning tensor calls it; [`DLPackExport::tensor`] does not. Call it
    /// before a C function receives the borrowed [`dl_tensor`](Self::dl_tensor) of device
    /// memory.
    ///
    /// [`DLPackExport::tensor`]: crate::DLPackExport::tensor
    ///
    /// ```
    /// use dlpack_traits::{DataRef, Layout, StreamArg, TensorView};
    ///
    /// let view = TensorView::new(DataRef::from_slice(&[1_u8]), Layout::new([1]))?;
    /// view.sync_for(StreamArg::unspecified())?; // host memory is ready
    /// # Ok::<(), dlpack_traits::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of the device, and [`Error::StreamOnHost`] if the consumer names a stream for host
    /// memory. An [`Error::Custom`] for device memory that was lent without
    /// [`synchronized_by`](DataRef::synchronized_by).
    #[inline]
    pub fn sync_for(&self, consumer: StreamArg<'_>) -> Result<(), Error> {
        // SAFETY: 1. The view was made from a loan for `'a`, which has not ended.
        unsafe { self.facts.sync_for(consumer) }
    }

    /// Marks the tensor READ_ONLY, even if the storage allows writing.
    #[must_use]
    pub fn into_read_only(mut self) -> Self {
        self.facts.set_read_only();
        self
    }

    /// Borrows the tensor as the C struct. This does not allocate.
    #[inline]
    pub fn dl_tensor(&self) -> DLTensorRef<'_> {
        let shape = self.shape().as_ptr().cast_mut();
        let strides = self.strides().as_ptr().cast_mut();
        DLTensorRef { raw: DLTensor { shape, strides, ..*self.raw() }, view: PhantomData }
    }

    #[inline]
    pub(crate) fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Bytes from the start of the storage, or from the handle, to the first element.
    pub(crate) fn byte_offset(&self) -> u64 {
        if self.data_ptr().is_null() {
            return self.raw().byte_offset;
        }
        // An address lies inside of the storage, and has no offset beside it; `data` of another device
        // is the handle itself.
        let behind = self.data_ptr().addr().wrapping_sub(self.facts.base().addr()) as u64;
        self.raw().byte_offset.wrapping_add(behind)
    }

    /// Bits that an element occupies in memory.
    pub(crate) fn element_bits(&self) -> i64 {
        stored_bits(self.dtype(), self.facts.is_padded())
    }

    /// Number of bytes of all elements, as of a contiguous copy.
    #[cfg(feature = "pyo3")]
    pub(crate) fn nbytes(&self) -> u64 {
        // They fit in memory.
        let bits = i128::from(self.numel()).wrapping_mul(self.element_bits().into());
        u64::try_from(bits.wrapping_add(7) >> 3).unwrap_or(u64::MAX)
    }

    /// Bytes that an element occupies in memory; `None` if it is not a whole number of
    /// bytes.
    pub(crate) fn element_bytes(&self) -> Option<usize> {
        let bits = self.element_bits();
        if bits % 8 == 0 { usize::try_from(bits >> 3).ok() } else { None }
    }
}

impl fmt::Debug for TensorView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TensorView")
            .field("dtype", &self.dtype())
            .field("device", &self.device())
            .field("shape", &self.shape())
            .field("strides", &self.strides())
            .field("data", &self.data_ptr())
            .field("flags", &self.facts.flags())
            .finish_non_exhaustive()
    }
}

/// A [`TensorView`] as a C function takes it: a `DLTensor *` for the duration of a call.
///
/// The receiver of the pointer may read the struct and its arrays while this value lives,
/// and must not write to them. The struct has no flags: [`TensorView::is_read_only`] states
/// whether the elements may be written.
#[derive(Debug)]
pub struct DLTensorRef<'v> {
    raw: DLTensor,
    view: PhantomData<&'v ()>,
}

impl DLTensorRef<'_> {
    /// The C struct.
    pub fn as_raw(&self) -> *const DLTensor {
        &raw const self.raw
    }
}
