//! The layout of a tensor as a value: [`Layout`]. It records references and numbers, and validates
//! none of them: `check.rs` does, when the memory is known.

use super::list::{IntoList, IntoStrides, List};
use crate::device::Device;
use crate::dims::Dim;
use crate::dtype::DataType;
use crate::error::Error;
use crate::strides;

/// The layout of the elements of a tensor in its storage.
///
/// It begins with the shape ([`Layout::new`], [`Describe::shape`](crate::Describe::shape)); all other attributes may follow in
/// any order. Methods whose name begins with `byte_` take bytes; all others take elements. A list
/// that the tensor stores is a reference, `&self.shape`; a computed one is an array or a `Vec`,
/// `[self.rows, 3]`.
///
/// Nothing is validated before the memory is known: by [`data`](Self::data) in an implementation of
/// [`DLPackExport`](crate::DLPackExport), or by [`TensorView::new`](crate::TensorView::new).
///
/// ```
/// use dlpack_traits::{DataRef, Layout, TensorView};
///
/// // The second column of a 2 x 3 matrix.
/// let matrix = [1_i32, 2, 3, 4, 5, 6];
/// let layout = Layout::new([2]).strides([3]).byte_offset(4);
/// let column = TensorView::new(DataRef::from_slice(&matrix), layout)?;
/// assert_eq!((column.shape(), column.strides()), (&[2][..], &[3][..]));
/// # Ok::<(), dlpack_traits::Error>(())
/// ```
///
/// `Out` is [`Describe`](crate::Describe) if the layout can be completed with [`data`](Self::data).
#[must_use = "a layout does nothing without data"]
#[derive(Debug)]
pub struct Layout<'a, Out = ()> {
    pub(super) out: Out,
    pub(super) shape: List<'a>,
    pub(super) strides: Strides<'a>,
    pub(super) claims: Claims,
}

/// The strides of a layout.
#[derive(Debug)]
pub(super) enum Strides<'a> {
    /// Contiguous in this order, except that the stride of the slowest axis may be a pitch.
    Contiguous(Order, Option<Distance>),
    /// One for each dimension.
    Explicit(List<'a>, Unit),
}

/// What a layout states beside its lists.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claims {
    /// How many entries of the lists are in use.
    pub(super) rank: Option<i64>,
    /// Distance from the start of the storage to the first element.
    pub(super) offset: Distance,
    /// Length of the part of the storage, from the offset on, that belongs to the tensor.
    pub(super) len: Option<Distance>,
    pub(super) dtype: Option<DataType>,
    pub(super) device: Option<Device>,
    pub(super) padded: bool,
    pub(super) read_only: bool,
    /// Whether it was stated that contiguous elements may use a part of the storage: by an offset, a
    /// length, a pitch, or as spare capacity.
    pub(super) partial: bool,
    /// The first error that is known without lists and memory.
    pub(super) error: Option<Error>,
}

/// A number as it was given; `None` if it does not fit in 64 signed bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Distance {
    pub(super) number: Option<i64>,
    pub(super) unit: Unit,
}

/// The unit of a distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Elements,
    Bytes,
}

impl Distance {
    #[inline(always)]
    fn new<I: Dim>(number: I, unit: Unit) -> Self {
        Self { number: number.to_i64(), unit }
    }
}

/// The order of the elements of a contiguous tensor.
///
/// ```
/// use dlpack_traits::{DataRef, Layout, Order, TensorView};
///
/// let matrix = [1_u8, 2, 3, 4, 5, 6];
/// let by_columns = Layout::new([2, 3]).order(Order::ColumnMajor);
/// assert_eq!(TensorView::new(DataRef::from_slice(&matrix), by_columns)?.strides(), [1, 2]);
/// # Ok::<(), dlpack_traits::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// The last axis is the fastest (C order).
    #[default]
    RowMajor,
    /// The first axis is the fastest (Fortran order).
    ColumnMajor,
}

impl Order {
    /// Writes the strides of a contiguous tensor.
    #[inline(never)]
    pub(crate) fn write_strides(self, shape: &[i64], strides: &mut [i64]) {
        match self {
            Self::RowMajor => strides::row_major_strides(shape, strides),
            Self::ColumnMajor => strides::column_major_strides(shape, strides),
        }
    }
}

impl<'a> Layout<'a> {
    /// Contiguous elements in row-major order, in all of the storage. `shape` is the size of each
    /// dimension, from the slowest axis to the fastest.
    #[inline(always)]
    pub fn new(mut shape: impl IntoList<'a>) -> Self {
        Self::begin((), shape.take_list())
    }
}

impl<'a, Out> Layout<'a, Out> {
    #[inline(always)]
    pub(super) fn begin(out: Out, shape: Result<List<'a>, Error>) -> Self {
        let (shape, error) = List::or_error(shape);
        let claims = Claims {
            rank: None,
            offset: Distance { number: Some(0), unit: Unit::Bytes },
            len: None,
            dtype: None,
            device: None,
            padded: false,
            read_only: false,
            partial: false,
            error,
        };
        Self { out, shape, strides: Strides::Contiguous(Order::RowMajor, None), claims }
    }

    /// The same layout, for another `out`, and the one of this.
    #[inline(always)]
    pub(super) fn exchange<O>(self, out: O) -> (Out, Layout<'a, O>) {
        let Self { out: before, shape, strides, claims } = self;
        (before, Layout { out, shape, strides, claims })
    }

    /// Uses only the first `ndim` entries of shape and strides, for types that store them in arrays
    /// of a fixed capacity.
    ///
    /// ```
    /// use dlpack_traits::{DLPackExport, Describe, Description, Error, Storage};
    ///
    /// struct Tensor {
    ///     data: Vec<f32>,
    ///     shape: [usize; 6],
    ///     ndim: u8,
    /// }
    ///
    /// impl DLPackExport for Tensor {
    ///     fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
    ///         out.shape(&self.shape).rank(self.ndim).data(self.data.data())
    ///     }
    /// }
    ///
    /// let tensor = Tensor { data: vec![0.0; 6], shape: [2, 3, 0, 0, 0, 0], ndim: 2 };
    /// assert_eq!(tensor.tensor()?.shape(), [2, 3]);
    /// # Ok::<(), dlpack_traits::Error>(())
    /// ```
    ///
    /// If `ndim` is negative or a list has fewer entries, the layout is
    /// [`RankBeyondCapacity`](Error::RankBeyondCapacity).
    #[inline(always)]
    pub fn rank<I: Dim>(mut self, ndim: I) -> Self {
        self.claims.rank = Some(ndim.to_i64().unwrap_or(i64::MAX));
        self
    }

    /// The same layout, for a list of `len` strides that [`rank`](Self::rank) must not shorten.
    pub(crate) fn of_whole_list(self, len: usize) -> Self {
        match self.claims.rank.map(usize::try_from) {
            Some(Ok(shape)) if shape != len => {
                self.refused(Error::RankMismatch { shape, strides: len })
            }
            _ => self,
        }
    }

    /// Sets explicit strides in **elements**, one for each dimension. They may be negative, or 0 for
    /// a broadcast axis. With `None` the elements are contiguous in row-major order.
    ///
    /// ```
    /// use dlpack_traits::{DLPackExport, Describe, Description, Error, Storage};
    ///
    /// struct View {
    ///     data: Vec<f32>,
    ///     shape: Vec<usize>,
    ///     strides: Option<Vec<isize>>,
    /// }
    ///
    /// impl DLPackExport for View {
    ///     fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
    ///         out.shape(&self.shape).strides(self.strides.as_ref()).data(self.data.data())
    ///     }
    /// }
    ///
    /// let columns = View { data: vec![0.0; 6], shape: vec![3, 2], strides: Some(vec![1, 3]) };
    /// assert_eq!(columns.tensor()?.strides(), [1, 3]);
    /// # Ok::<(), Error>(())
    /// ```
    #[inline(always)]
    pub fn strides(self, mut strides: impl IntoStrides<'a>) -> Self {
        self.with_strides(strides.take_strides(), Unit::Elements)
    }

    /// Sets explicit strides in **bytes**, one for each dimension, each a multiple of the element
    /// size. With `None` the elements are contiguous in row-major order.
    ///
    /// ```
    /// use dlpack_traits::{DataRef, Layout, TensorView};
    ///
    /// let rows = [0_f32; 8];
    /// let layout = Layout::new([2, 3]).byte_strides([16, 4]);
    /// assert_eq!(TensorView::new(DataRef::from_slice(&rows), layout)?.strides(), [4, 1]);
    /// # Ok::<(), dlpack_traits::Error>(())
    /// ```
    #[inline(always)]
    pub fn byte_strides(self, mut strides: impl IntoStrides<'a>) -> Self {
        self.with_strides(strides.take_strides(), Unit::Bytes)
    }

    #[inline(always)]
    fn with_strides(mut self, strides: Option<Result<List<'a>, Error>>, unit: Unit) -> Self {
        let Some(strides) = strides else { return self.order(Order::RowMajor) };
        let (list, error) = List::or_error(strides);
        let has_pitch = matches!(self.strides, Strides::Contiguous(_, Some(_)));
        self.strides = Strides::Explicit(list, unit);
        let layout = match error {
            None => self,
            Some(error) => self.refused(error),
        };
        if has_pitch { layout.refused(Error::PitchBesideStrides) } else { layout }
    }

    /// Makes the elements contiguous in this order, and discards strides that were set before.
    /// Row-major is the default.
    #[inline(always)]
    pub fn order(mut self, order: impl Into<Order>) -> Self {
        let pitch = match self.strides {
            Strides::Contiguous(_, pitch) => pitch,
            Strides::Explicit(..) => None,
        };
        self.strides = Strides::Contiguous(order.into(), pitch);
        self
    }

    /// Sets the stride of the slowest axis of a contiguous layout, in **elements**: the leading
    /// dimension of a padded matrix. [`Error::PitchTooSmall`] if it is smaller than a row: rows that
    /// overlap have [`strides`](Self::strides).
    #[inline(always)]
    pub fn pitch<I: Dim>(self, elements: I) -> Self {
        self.with_pitch(Distance::new(elements, Unit::Elements))
    }

    /// Sets the stride of the slowest axis of a contiguous layout, in **bytes**: the row pitch of an
    /// image.
    #[inline(always)]
    pub fn byte_pitch<I: Dim>(self, bytes: I) -> Self {
        self.with_pitch(Distance::new(bytes, Unit::Bytes))
    }

    #[inline(always)]
    fn with_pitch(mut self, distance: Distance) -> Self {
        self.claims.partial = true;
        match &mut self.strides {
            Strides::Contiguous(_, pitch) => {
                *pitch = Some(distance);
                self
            }
            Strides::Explicit(..) => self.refused(Error::PitchBesideStrides),
        }
    }

    /// Sets the offset of the first element in the storage, in **elements**.
    #[inline(always)]
    pub fn offset<I: Dim>(self, elements: I) -> Self {
        self.with_offset(Distance::new(elements, Unit::Elements))
    }

    /// Sets the offset of the first element in the storage, in **bytes**.
    #[inline(always)]
    pub fn byte_offset<I: Dim>(self, bytes: I) -> Self {
        self.with_offset(Distance::new(bytes, Unit::Bytes))
    }

    #[inline(always)]
    fn with_offset(mut self, offset: Distance) -> Self {
        (self.claims.offset, self.claims.partial) = (offset, true);
        self
    }

    /// Restricts the tensor to that many **elements** of the storage from its offset on. If an
    /// element is outside of that part, the layout is [`Error::OutsideWindow`].
    #[inline(always)]
    pub fn len<I: Dim>(self, elements: I) -> Self {
        self.with_len(Distance::new(elements, Unit::Elements))
    }

    /// Restricts the tensor to that many **bytes** of the storage from its offset on. If an element
    /// is outside of that part, the layout is [`Error::OutsideWindow`].
    #[inline(always)]
    pub fn byte_len<I: Dim>(self, bytes: I) -> Self {
        self.with_len(Distance::new(bytes, Unit::Bytes))
    }

    #[inline(always)]
    fn with_len(mut self, len: Distance) -> Self {
        (self.claims.len, self.claims.partial) = (Some(len), true);
        self
    }

    /// States that the storage may have spare capacity behind a contiguous tensor: any number of
    /// elements. Without this, an offset, a length or a pitch, a contiguous tensor uses all of its
    /// storage, or the layout is [`Error::SpareCapacity`].
    ///
    /// ```
    /// use dlpack_traits::{DataRef, Error, Layout, TensorView};
    ///
    /// let buffer = [0_f32; 8];
    /// let view = |layout| TensorView::new(DataRef::from_slice(&buffer), layout);
    /// let unused = Error::SpareCapacity { elements: 3, bytes: 12, len: 32 };
    /// assert_eq!(view(Layout::new([3])).unwrap_err(), unused);
    /// assert_eq!(view(Layout::new([3]).spare_capacity())?.shape(), [3]);
    /// # Ok::<(), Error>(())
    /// ```
    #[inline(always)]
    pub fn spare_capacity(mut self) -> Self {
        self.claims.partial = true;
        self
    }

    /// Sets the element type. Byte storage (`u8`) is read as elements of this type; any other
    /// storage must already have it.
    #[inline(always)]
    pub fn dtype(mut self, dtype: impl Into<DataType>) -> Self {
        self.claims.dtype = Some(dtype.into());
        self
    }

    /// States the device, which must be the storage's.
    #[inline(always)]
    pub fn device(mut self, device: impl Into<Device>) -> Self {
        self.claims.device = Some(device.into());
        self
    }

    /// Marks elements narrower than a byte as padded to one byte each (IS_SUBBYTE_TYPE_PADDED).
    /// Without this they are packed.
    #[inline(always)]
    pub fn padded(mut self) -> Self {
        self.claims.padded = true;
        self
    }

    /// Marks the tensor READ_ONLY, even if the storage allows writing.
    #[inline(always)]
    pub fn read_only(mut self) -> Self {
        self.claims.read_only = true;
        self
    }

    /// Makes the layout invalid for this reason, unless it is for an earlier one.
    #[inline(always)]
    pub fn refused(mut self, error: Error) -> Self {
        if self.claims.error.is_none() {
            self.claims.error = Some(error);
        }
        self
    }
}
