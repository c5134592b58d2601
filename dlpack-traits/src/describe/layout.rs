//! The layout of a tensor as a value: [`Layout`]. `check.rs` validates it against memory.

use super::amount::Amount;
use super::order::Order;
use crate::device::Device;
use crate::dims::{AsDims, Dim, Dims};
use crate::dtype::DataType;
use crate::error::Error;

/// The layout of the elements of a tensor in its storage.
///
/// Methods whose name begins with `byte_` take bytes; all others take elements.
///
/// ```
/// use dlpack_traits::{DataRef, Layout, TensorView};
///
/// // The second column of a 2 x 3 matrix.
/// let matrix = [1_i32, 2, 3, 4, 5, 6];
/// let column = TensorView::new(
///     DataRef::from_slice(&matrix),
///     Layout::strided(&[2], &[3])?.byte_offset(4_usize)?,
/// )?;
/// assert_eq!((column.shape(), column.strides()), (&[2][..], &[3][..]));
/// # Ok::<(), dlpack_traits::Error>(())
/// ```
#[derive(Debug)]
pub struct Layout<'a> {
    pub(super) shape: Dims<'a>,
    pub(super) strides: Strides<'a>,
    /// Distance from the start of the storage to the first element.
    pub(super) offset: Amount,
    /// Length of the part of the storage, from the offset on, that belongs to the tensor.
    pub(super) len: Option<Amount>,
    pub(super) dtype: Option<DataType>,
    pub(super) device: Option<Device>,
    pub(super) padded: bool,
    /// Whether it was stated that contiguous elements may use a part of the storage.
    pub(super) partial: bool,
}

/// The strides of a layout.
#[derive(Debug)]
pub(super) enum Strides<'a> {
    /// Contiguous in this order, except that the stride of the slowest axis may be a pitch.
    Compact { order: Order, pitch: Option<Amount> },
    /// Explicit, in elements.
    Elements(Dims<'a>),
    /// Explicit, in bytes.
    Bytes(Dims<'a>),
}

impl<'a> Layout<'a> {
    /// Contiguous elements in row-major (C) order.
    ///
    /// # Errors
    ///
    /// [`Error::DimTooLarge`]; [`Error::OutOfMemory`] if memory for more than 8 dimensions cannot be
    /// allocated.
    #[inline]
    pub fn row_major<D: AsDims + ?Sized>(shape: &'a D) -> Result<Self, Error> {
        Self::ordered(shape, Order::RowMajor)
    }

    /// Contiguous elements in column-major (Fortran) order.
    ///
    /// # Errors
    ///
    /// [`Error::DimTooLarge`]; [`Error::OutOfMemory`] if memory for more than 8 dimensions cannot be
    /// allocated.
    #[inline]
    pub fn column_major<D: AsDims + ?Sized>(shape: &'a D) -> Result<Self, Error> {
        Self::ordered(shape, Order::ColumnMajor)
    }

    /// Contiguous elements in an order that is chosen at run time.
    ///
    /// # Errors
    ///
    /// [`Error::DimTooLarge`]; [`Error::OutOfMemory`] if memory for more than 8 dimensions cannot be
    /// allocated.
    #[inline(always)]
    pub fn ordered<D: AsDims + ?Sized>(
        shape: &'a D,
        order: impl Into<Order>,
    ) -> Result<Self, Error> {
        Ok(Self::of_compact(Dims::of(shape)?, order.into()))
    }

    /// Elements at explicit strides, in **elements**, one for each dimension.
    ///
    /// # Errors
    ///
    /// [`Error::DimTooLarge`], [`Error::StrideTooLarge`]; [`Error::OutOfMemory`] if memory for
    /// more than 8 dimensions cannot be allocated. [`TensorView::new`](crate::TensorView::new) rejects a wrong number
    /// of strides.
    #[inline]
    pub fn strided<D, S>(shape: &'a D, strides: &'a S) -> Result<Self, Error>
    where
        D: AsDims + ?Sized,
        S: AsDims + ?Sized,
    {
        Ok(Self::of_strides(Dims::of(shape)?, Dims::of(strides).map_err(Error::of_strides)?))
    }

    /// Elements at explicit strides, in **bytes**, one for each dimension. Each must be a
    /// multiple of the element size.
    ///
    /// ```
    /// use dlpack_traits::{DataRef, Layout, TensorView};
    ///
    /// let rows = [0_f32; 8];
    /// let layout = Layout::byte_strided(&[2, 3], &[16, 4])?;
    /// assert_eq!(TensorView::new(DataRef::from_slice(&rows), layout)?.strides(), [4, 1]);
    /// # Ok::<(), dlpack_traits::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`strided`](Self::strided).
    #[inline]
    pub fn byte_strided<D, S>(shape: &'a D, strides: &'a S) -> Result<Self, Error>
    where
        D: AsDims + ?Sized,
        S: AsDims + ?Sized,
    {
        Ok(Self::of_byte_strides(Dims::of(shape)?, Dims::of(strides).map_err(Error::of_strides)?))
    }

    /// As [`ordered`](Self::ordered), for dimensions that were already converted.
    #[inline]
    pub(crate) fn of_compact(shape: Dims<'a>, order: Order) -> Self {
        Self::new(shape, Strides::Compact { order, pitch: None })
    }

    /// As [`strided`](Self::strided), for dimensions that were already converted.
    #[inline]
    pub(crate) fn of_strides(shape: Dims<'a>, strides: Dims<'a>) -> Self {
        Self::new(shape, Strides::Elements(strides))
    }

    /// As [`byte_strided`](Self::byte_strided), for dimensions that were already converted.
    #[inline]
    pub(crate) fn of_byte_strides(shape: Dims<'a>, strides: Dims<'a>) -> Self {
        Self::new(shape, Strides::Bytes(strides))
    }

    #[inline(always)]
    fn new(shape: Dims<'a>, strides: Strides<'a>) -> Self {
        let offset = Amount::Bytes(0);
        Self {
            shape,
            strides,
            offset,
            len: None,
            dtype: None,
            device: None,
            padded: false,
            partial: false,
        }
    }

    /// Uses only the first `ndim` entries of shape and strides, for types that store them
    /// in arrays of a fixed capacity.
    ///
    /// ```
    /// use dlpack_traits::{DataRef, Layout, TensorView};
    ///
    /// let layout = Layout::row_major(&[2, 3, 0, 0])?.rank(2)?;
    /// assert_eq!(TensorView::new(DataRef::from_slice(&[0_u8; 6]), layout)?.shape(), [2, 3]);
    /// # Ok::<(), dlpack_traits::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::RankBeyondCapacity`] if there are fewer, or if `ndim` is negative.
    #[inline]
    pub fn rank<I: Dim>(mut self, ndim: I) -> Result<Self, Error> {
        let ndim = ndim.to_i64().unwrap_or(i64::MAX);
        self.shape.truncate(ndim)?;
        if let Strides::Elements(strides) | Strides::Bytes(strides) = &mut self.strides {
            strides.truncate(ndim)?;
        }
        Ok(self)
    }

    /// Sets the stride of the slowest axis of a contiguous layout, in **elements**: the
    /// leading dimension of a padded matrix.
    ///
    /// # Errors
    ///
    /// [`Error::PitchOutOfRange`], and [`Error::PitchBesideStrides`] for a layout with explicit
    /// strides. [`TensorView::new`](crate::TensorView::new) returns [`Error::PitchTooSmall`].
    #[inline]
    pub fn pitch<I: Dim>(self, elements: I) -> Result<Self, Error> {
        let elements = elements.to_i64().ok_or(Error::PitchOutOfRange)?;
        self.with_pitch(Amount::Elements(elements))
    }

    /// Sets the stride of the slowest axis of a contiguous layout, in **bytes**: the row
    /// pitch of an image.
    ///
    /// # Errors
    ///
    /// Those of [`pitch`](Self::pitch). [`TensorView::new`](crate::TensorView::new) returns
    /// [`Error::PitchNotWhole`] and [`Error::BytePitchTooSmall`].
    #[inline]
    pub fn byte_pitch<I: Dim>(self, bytes: I) -> Result<Self, Error> {
        let bytes = bytes.to_i64().and_then(|bytes| u64::try_from(bytes).ok());
        self.with_pitch(Amount::Bytes(bytes.ok_or(Error::PitchOutOfRange)?))
    }

    #[inline]
    fn with_pitch(mut self, amount: Amount) -> Result<Self, Error> {
        match &mut self.strides {
            Strides::Compact { pitch, .. } => *pitch = Some(amount),
            Strides::Elements(_) | Strides::Bytes(_) => return Err(Error::PitchBesideStrides),
        }
        Ok(Self { partial: true, ..self })
    }

    /// Sets the offset of the first element in the storage, in **bytes**.
    ///
    /// # Errors
    ///
    /// [`Error::NegativeOffset`], and [`Error::SizeOverflow`] beyond 63 bits.
    #[inline]
    pub fn byte_offset<I: Dim>(self, bytes: I) -> Result<Self, Error> {
        let bytes = bytes.to_i64().ok_or(Error::SizeOverflow)?;
        let bytes = u64::try_from(bytes).map_err(|_| Error::NegativeOffset)?;
        Ok(Self { offset: Amount::Bytes(bytes), partial: true, ..self })
    }

    /// Sets the offset of the first element in the storage, in **elements**.
    ///
    /// # Errors
    ///
    /// [`Error::NegativeOffset`], and [`Error::SizeOverflow`] beyond 63 bits.
    #[inline]
    pub fn offset<I: Dim>(self, elements: I) -> Result<Self, Error> {
        let elements = elements.to_i64().ok_or(Error::SizeOverflow)?;
        if elements < 0 {
            return Err(Error::NegativeOffset);
        }
        Ok(Self { offset: Amount::Elements(elements), partial: true, ..self })
    }

    /// Restricts the tensor to a part of the storage: that many **bytes** from its offset
    /// on.
    ///
    /// # Errors
    ///
    /// [`Error::SizeOverflow`] if the number is negative or beyond 63 bits. If an element
    /// is outside of that part, the construction of the view returns
    /// [`Error::OutsideWindow`].
    #[inline]
    pub fn byte_len<I: Dim>(self, bytes: I) -> Result<Self, Error> {
        let bytes = bytes.to_i64().and_then(|bytes| u64::try_from(bytes).ok());
        let len = Some(Amount::Bytes(bytes.ok_or(Error::SizeOverflow)?));
        Ok(Self { len, partial: true, ..self })
    }

    /// Restricts the tensor to a part of the storage: that many **elements** from its
    /// offset on.
    ///
    /// # Errors
    ///
    /// [`Error::SizeOverflow`] if the number is negative or beyond 63 bits. If an element
    /// is outside of that part, the construction of the view returns
    /// [`Error::OutsideWindow`].
    #[inline]
    pub fn len<I: Dim>(self, elements: I) -> Result<Self, Error> {
        match elements.to_i64() {
            Some(elements @ 0..) => {
                Ok(Self { len: Some(Amount::Elements(elements)), partial: true, ..self })
            }
            _ => Err(Error::SizeOverflow),
        }
    }

    /// States that the storage may have spare capacity behind a contiguous tensor: any number of
    /// elements. Without this, an offset, a length or a pitch, a contiguous tensor uses all of its
    /// storage, or the construction of the view returns [`Error::SpareCapacity`].
    ///
    /// ```
    /// use dlpack_traits::{DataRef, Error, Layout, TensorView};
    ///
    /// let buffer = [0_f32; 8];
    /// let view = |layout| TensorView::new(DataRef::from_slice(&buffer), layout);
    /// let unused = Error::SpareCapacity { elements: 3, bytes: 12, len: 32 };
    /// assert_eq!(view(Layout::row_major(&[3])?).unwrap_err(), unused);
    /// assert_eq!(view(Layout::row_major(&[3])?.spare_capacity())?.shape(), [3]);
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn spare_capacity(self) -> Self {
        Self { partial: true, ..self }
    }

    /// Sets the element type. Byte storage (`u8`) is read as elements of this type; any
    /// other storage must already have it.
    #[inline]
    #[must_use]
    pub fn dtype(self, dtype: impl Into<DataType>) -> Self {
        Self { dtype: Some(dtype.into()), ..self }
    }

    /// States the device, which must be the storage's.
    #[inline]
    #[must_use]
    pub fn device(self, device: impl Into<Device>) -> Self {
        Self { device: Some(device.into()), ..self }
    }

    /// Marks elements narrower than a byte as padded to one byte each
    /// (IS_SUBBYTE_TYPE_PADDED). Without this they are packed.
    #[inline]
    #[must_use]
    pub fn padded(self) -> Self {
        Self { padded: true, ..self }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::storage::DataRef;
    use crate::view::TensorView;

    fn strides(layout: Result<Layout<'_>, Error>, bytes: usize) -> Result<Vec<i64>, Error> {
        let storage = alloc::vec![0_u32; bytes / 4];
        Ok(TensorView::new(DataRef::from_slice(&storage), layout?)?.strides().to_vec())
    }

    #[test]
    fn orders_and_pitches() {
        let shape = [2, 3];
        assert_eq!(strides(Layout::column_major(&shape), 24), Ok([1, 2].to_vec()));
        let pitch = |layout: Result<Layout<'_>, Error>| strides(layout, 4 * 8);
        assert_eq!(pitch(Layout::row_major(&shape).unwrap().pitch(5)), Ok([5, 1].to_vec()));
        assert_eq!(pitch(Layout::row_major(&shape).unwrap().byte_pitch(16)), Ok([4, 1].to_vec()));
        assert_eq!(pitch(Layout::column_major(&shape).unwrap().pitch(3)), Ok([1, 3].to_vec()));
        assert_eq!(
            pitch(Layout::row_major(&shape).unwrap().pitch(2)),
            Err(Error::PitchTooSmall { pitch: 2, row: 3 })
        );
        assert_eq!(
            pitch(Layout::row_major(&shape).unwrap().byte_pitch(15)),
            Err(Error::PitchNotWhole { bytes: 15, bits: 32 })
        );
        assert_eq!(
            pitch(Layout::row_major(&shape).unwrap().byte_pitch(8)),
            Err(Error::BytePitchTooSmall { bytes: 8, row: 12 })
        );
        assert_eq!(
            strides(Layout::row_major(&[0, 3]).unwrap().byte_pitch(8), 0),
            strides(Layout::row_major(&[0, 3]).unwrap().pitch(2), 0)
        );
        assert!(matches!(
            pitch(Layout::row_major(&shape).unwrap().pitch(6)),
            Err(Error::OutOfBounds { end: 36, .. })
        ));
        let strided = Layout::strided(&shape, &[3, 1]).unwrap();
        assert_eq!(strided.pitch(3).unwrap_err(), Error::PitchBesideStrides);
    }

    #[test]
    fn numbers_that_do_not_fit_are_named() {
        let (small, large) = ([2_u64, 2], [1, u64::MAX]);
        let is = |layout: Result<Layout<'_>, Error>, error| assert_eq!(layout.unwrap_err(), error);
        is(Layout::row_major(&large), Error::DimTooLarge { axis: 1 });
        is(Layout::strided(&large, &large), Error::DimTooLarge { axis: 1 });
        is(Layout::strided(&small, &large), Error::StrideTooLarge { axis: 1 });
        is(Layout::byte_strided(&small, &large), Error::StrideTooLarge { axis: 1 });
        let compact = || Layout::row_major(&small).unwrap();
        is(compact().pitch(u64::MAX), Error::PitchOutOfRange);
        is(compact().byte_pitch(u64::MAX), Error::PitchOutOfRange);
        is(compact().byte_pitch(-16), Error::PitchOutOfRange);
    }

    #[test]
    fn byte_strides_are_whole_elements() {
        let shape = [2, 2];
        assert_eq!(strides(Layout::byte_strided(&shape, &[8, -4]), 16).unwrap_err(), {
            Error::OutOfBounds { start: -4, end: 12, len: 16 }
        });
        assert_eq!(strides(Layout::byte_strided(&shape, &[8, 4]), 16), Ok([2, 1].to_vec()));
        assert_eq!(
            strides(Layout::byte_strided(&shape, &[8, 6]), 16),
            Err(Error::StrideNotWhole { axis: 1, bytes: 6 })
        );
    }

    #[test]
    fn offsets_and_lengths_in_either_unit() {
        let storage = [0_u32; 8];
        let view = |layout: Layout<'_>| {
            let view = TensorView::new(DataRef::from_slice(&storage), layout)?;
            Ok::<_, Error>(view.data_ptr().addr() - storage.as_ptr().addr())
        };
        let layout = || Layout::row_major(&[2]).unwrap();
        assert_eq!(view(layout().offset(3).unwrap()), Ok(12));
        assert_eq!(view(layout().byte_offset(12).unwrap()), Ok(12));
        assert_eq!(view(layout().offset(6).unwrap().len(2).unwrap()), Ok(24));
        assert_eq!(
            view(layout().offset(2).unwrap().byte_len(4).unwrap()),
            Err(Error::OutsideWindow { start: 8, end: 16, from: 8, to: 12 })
        );
        let column = |steps: &'static [i64]| Layout::strided(&[2], steps).unwrap().offset(3);
        assert_eq!(view(column(&[-1]).unwrap().len(3).unwrap()), {
            Err(Error::OutsideWindow { start: 8, end: 16, from: 12, to: 24 })
        });
        assert_eq!(view(column(&[2]).unwrap().len(3).unwrap()), Ok(12));
        assert_eq!(view(column(&[2]).unwrap().len(2).unwrap()), {
            Err(Error::OutsideWindow { start: 12, end: 24, from: 12, to: 20 })
        });
        assert_eq!(view(column(&[2, 1]).unwrap().len(3).unwrap()), {
            Err(Error::RankMismatch { shape: 1, strides: 2 })
        });
        let nothing = Layout::strided(&[0], &[9]).unwrap().offset(3).unwrap().len(0).unwrap();
        assert!(TensorView::new(DataRef::from_slice(&storage), nothing).is_ok());
        // A window that is the whole storage excludes nothing.
        assert_eq!(
            view(Layout::row_major(&[9]).unwrap().len(8).unwrap()),
            Err(Error::OutOfBounds { start: 0, end: 36, len: 32 })
        );
        assert_eq!(
            view(layout().offset(7).unwrap().len(2).unwrap()),
            Err(Error::OutOfBounds { start: 28, end: 36, len: 32 })
        );
        assert_eq!(layout().offset(-1).unwrap_err(), Error::NegativeOffset);
        assert_eq!(layout().byte_offset(-1_i8).unwrap_err(), Error::NegativeOffset);
        assert_eq!(layout().offset(u64::MAX).unwrap_err(), Error::SizeOverflow);
    }

    #[test]
    fn ranks_within_a_capacity() {
        let storage = [0_u8; 6];
        let view = |rank: i32| {
            let layout = Layout::strided(&[2_i32, 3, 0, 0], &[3_i32, 1, 0, 0])?.rank(rank)?;
            Ok::<_, Error>(TensorView::new(DataRef::from_slice(&storage), layout)?.ndim())
        };
        assert_eq!(view(2), Ok(2));
        assert_eq!(view(0), Ok(0));
        assert_eq!(view(5), Err(Error::RankBeyondCapacity { ndim: 5, capacity: 4 }));
        assert_eq!(view(-1), Err(Error::RankBeyondCapacity { ndim: -1, capacity: 4 }));
    }

    #[test]
    fn packed_and_padded() {
        let storage = [0_u8; 6];
        let view = |layout: Layout<'_>| {
            TensorView::new(DataRef::from_slice(&storage), layout.dtype(DataType::FLOAT4_E2M1FN))
                .map(|view| view.data_ptr().addr() - storage.as_ptr().addr())
        };
        let row = |n: &'static [i64]| Layout::row_major(n).unwrap();
        assert_eq!(view(row(&[12])), Ok(0));
        assert_eq!(view(row(&[13])), Err(Error::OutOfBounds { start: 0, end: 7, len: 6 }));
        assert_eq!(view(row(&[6]).padded()), Ok(0));
        assert_eq!(view(row(&[7]).padded()), Err(Error::OutOfBounds { start: 0, end: 7, len: 6 }));
        assert_eq!(view(row(&[2]).offset(4).unwrap()), Ok(2));
        assert_eq!(view(row(&[2]).offset(4).unwrap().padded()), Ok(4));
        let dtype = DataType::FLOAT4_E2M1FN;
        assert_eq!(view(row(&[2]).offset(3).unwrap()), Err(Error::InsideByte { dtype }));
    }
}
