//! How elements lie in memory, and the proof that they lie inside it:
//! [`Layout`], and [`Described`].

use crate::device::Device;
use crate::dims::{AsDims, Dims};
use crate::dtype::DataType;
use crate::error::Error;
use crate::ffi::{self, DLTensor};
use crate::layout::{self, Extent};
use crate::storage::{Access, Memory};

/// How the elements of a tensor lie in its storage.
///
/// Dimensions and strides count elements; the offset counts bytes.
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
    pub(crate) shape: Dims<'a>,
    pub(crate) strides: Option<Dims<'a>>,
    pub(crate) byte_offset: u64,
    pub(crate) dtype: Option<DataType>,
    pub(crate) device: Option<Device>,
}

impl<'a> Layout<'a> {
    /// Compact elements in row-major (C) order.
    ///
    /// # Errors
    ///
    /// [`Error::DimTooLarge`].
    #[inline]
    pub fn row_major<D: AsDims + ?Sized>(shape: &'a D) -> Result<Self, Error> {
        let shape = shape.as_dims()?;
        Ok(Self { shape, strides: None, byte_offset: 0, dtype: None, device: None })
    }

    /// Elements at explicit strides, in elements, one for each dimension.
    ///
    /// # Errors
    ///
    /// [`Error::DimTooLarge`]; a wrong number of strides is found by
    /// [`TensorView::new`](crate::TensorView::new).
    #[inline]
    pub fn strided<D, S>(shape: &'a D, strides: &'a S) -> Result<Self, Error>
    where
        D: AsDims + ?Sized,
        S: AsDims + ?Sized,
    {
        Ok(Self { strides: Some(strides.as_dims()?), ..Self::row_major(shape)? })
    }

    /// Starts the tensor that many bytes into the storage.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfBounds`] if the offset is negative or does not fit in 64 bits.
    #[inline]
    pub fn byte_offset<I: TryInto<u64>>(self, bytes: I) -> Result<Self, Error> {
        match bytes.try_into() {
            Ok(byte_offset) => Ok(Self { byte_offset, ..self }),
            Err(_) => Err(Error::OutOfBounds { start: -1, end: -1, len: 0 }),
        }
    }

    /// Reads byte storage (`u8`) as elements of this type. A storage of
    /// another type must already have it.
    #[inline]
    #[must_use]
    pub fn dtype(self, dtype: impl Into<DataType>) -> Self {
        Self { dtype: Some(dtype.into()), ..self }
    }

    /// States the device. It must be the storage's.
    #[inline]
    #[must_use]
    pub fn device(self, device: impl Into<Device>) -> Self {
        Self { device: Some(device.into()), ..self }
    }
}

/// Described memory, every claim about which has been checked.
///
/// All elements lie inside the memory, are aligned, and are of a type that the
/// standard defines.
#[derive(Debug)]
pub(crate) struct Described<'a> {
    /// The whole storage.
    memory: Memory,
    /// Bytes from its start to the first element.
    byte_offset: u64,
    /// The bytes from its start that hold elements; empty where there are none.
    span: Span,
    /// Type of the elements, which may differ from the storage's.
    dtype: DataType,
    shape: Dims<'a>,
    strides: Dims<'a>,
    /// Number of elements.
    numel: i64,
    /// Whether the strides were made here, so that no two elements overlap.
    compact: bool,
    /// Whether consumers are refused writing even where the memory allows it.
    read_only: bool,
}

impl<'a> Described<'a> {
    /// Checks a layout against the memory that it is to describe.
    #[inline]
    pub(crate) fn new(memory: Memory, layout: Layout<'a>) -> Result<Self, Error> {
        let Layout { shape, strides, byte_offset, dtype, device } = layout;
        if let Some(device) = device {
            if device != memory.device {
                return Err(Error::DeviceMismatch { device, storage: memory.device });
            }
        }
        let dtype = element_type(dtype.unwrap_or(memory.dtype), memory.dtype)?;
        let numel = layout::numel(shape.as_slice())?;
        let compact = strides.is_none();
        let (extent, strides) = if let Some(strides) = strides {
            let (shape, given) = (shape.as_slice(), strides.as_slice());
            if shape.len() != given.len() {
                return Err(Error::RankMismatch { shape: shape.len(), strides: given.len() });
            }
            let some = numel != 0;
            (some.then(|| layout::extent_of_some(shape, given)).transpose()?, strides)
        } else {
            let strides = Dims::filled(shape.as_slice().len(), |strides| {
                layout::row_major_strides(shape.as_slice(), strides);
                Ok(())
            })?;
            let high = numel.saturating_sub(1);
            ((numel != 0).then_some(Extent { low: 0, high }), strides)
        };
        let span = Span::new(memory.byte_len, byte_offset, dtype, extent)?;
        if numel != 0 {
            check_alignment(&memory, byte_offset, dtype)?;
        }
        let read_only = false;
        Ok(Self { memory, byte_offset, span, dtype, shape, strides, numel, compact, read_only })
    }

    /// Moves the description to the memory of another owner, in which the
    /// elements are found by their address: all of them must lie in it.
    ///
    /// On an error the description is as it was.
    #[inline]
    pub(crate) fn relocate(&mut self, memory: Memory) -> Result<(), Error> {
        let from = self.memory;
        if memory.device != from.device {
            return Err(Error::DeviceMismatch { device: from.device, storage: memory.device });
        }
        let moved = if memory.device.has_addresses() {
            from.ptr.addr().wrapping_sub(memory.ptr.addr()) as u64
        } else if memory.ptr == from.ptr {
            0
        } else {
            // A handle has no neighbours: this is another object.
            return Err(Error::ShareOutOfRange);
        };
        if memory.device.has_addresses() && self.numel == 0 {
            (self.byte_offset, self.span) = (0, Span { start: 0, end: 0 });
        } else {
            // What lies before the new memory wraps around to beyond its end.
            let start = self.span.start.wrapping_add(moved);
            let end = self.span.end.wrapping_add(moved);
            if start > end || end > memory.byte_len as u64 {
                return Err(Error::ShareOutOfRange);
            }
            let byte_offset = self.byte_offset.wrapping_add(moved);
            check_alignment(&memory, byte_offset, self.dtype)?;
            (self.byte_offset, self.span) = (byte_offset, Span { start, end });
        }
        self.memory = memory;
        Ok(())
    }

    /// The same tensor for readers only.
    pub(crate) fn into_read_only(self) -> Self {
        Self { read_only: true, ..self }
    }

    /// Whether a consumer must be told not to write: nobody may, or two
    /// elements share memory, so that one write would change several.
    #[inline]
    pub(crate) fn is_read_only(&self) -> bool {
        self.read_only
            || self.memory.access == Access::Frozen
            || (!self.compact && layout::may_overlap(self.shape(), self.strides()))
    }

    #[inline]
    pub(crate) fn memory(&self) -> &Memory {
        &self.memory
    }

    #[inline]
    pub(crate) fn dtype(&self) -> DataType {
        self.dtype
    }

    #[inline]
    pub(crate) fn shape(&self) -> &[i64] {
        self.shape.as_slice()
    }

    #[inline]
    pub(crate) fn strides(&self) -> &[i64] {
        self.strides.as_slice()
    }

    #[inline]
    pub(crate) fn numel(&self) -> i64 {
        self.numel
    }

    /// First element and remaining offset, as the wire wants them: NULL when
    /// there are no elements; `data` moved where it is an address, the offset
    /// kept where it is a handle.
    #[inline]
    pub(crate) fn data(&self) -> (*mut u8, u64) {
        if !self.memory.device.has_addresses() {
            (self.memory.ptr, self.byte_offset)
        } else if self.numel == 0 {
            (core::ptr::null_mut(), 0)
        } else {
            // The first element lies inside the memory, so its offset fits.
            let byte_offset = usize::try_from(self.byte_offset).unwrap_or(0);
            (self.memory.ptr.wrapping_add(byte_offset), 0)
        }
    }

    /// The C struct, with dimensions that live elsewhere.
    #[inline]
    pub(crate) fn to_ffi(&self, shape: *mut i64, strides: *mut i64) -> DLTensor {
        let (data, byte_offset) = self.data();
        DLTensor {
            data: data.cast(),
            device: self.memory.device.to_ffi(),
            // `numel` refused more than 64 dimensions.
            ndim: i32::try_from(self.shape().len()).unwrap_or(0),
            dtype: self.dtype.to_ffi(),
            shape,
            strides,
            byte_offset,
        }
    }
}

/// The element type that `dtype` makes of a storage.
#[inline]
fn element_type(dtype: DataType, storage: DataType) -> Result<DataType, Error> {
    if !dtype.is_well_formed() {
        Err(Error::UnsupportedDType { dtype })
    } else if dtype == storage || storage == DataType::U8 {
        Ok(dtype)
    } else {
        Err(Error::DTypeMismatch { dtype, storage })
    }
}

/// A range of bytes, counted from the start of a storage.
#[derive(Clone, Copy, Debug)]
struct Span {
    start: u64,
    end: u64,
}

impl Span {
    /// The bytes of the elements `extent`, counted from `byte_offset`, if they
    /// are among the `len` bytes of a storage.
    #[inline]
    fn new(
        len: usize,
        byte_offset: u64,
        dtype: DataType,
        extent: Option<Extent>,
    ) -> Result<Self, Error> {
        // Elements may be narrower than a byte, so this counts bits. Nothing
        // saturates: an offset has 67 bits then, and an end 88 at the most.
        let offset = i128::from(byte_offset).saturating_mul(8);
        let bits = i128::from(dtype.element_bits());
        let (low, end): (i128, i128) = match extent {
            Some(Extent { low, high }) => (low.into(), i128::from(high).saturating_add(1)),
            None => (0, 0),
        };
        let start = offset.saturating_add(low.saturating_mul(bits)) >> 3;
        let end = offset.saturating_add(end.saturating_mul(bits)).saturating_add(7) >> 3;
        match (u64::try_from(start), u64::try_from(end)) {
            (Ok(start), Ok(end)) if end <= len as u64 => Ok(Self { start, end }),
            _ => Err(out_of_bounds(start, end, len)),
        }
    }
}

#[cold]
fn out_of_bounds(start: i128, end: i128, len: usize) -> Error {
    let clamp = |n: i128| i64::try_from(n.clamp(i64::MIN.into(), i64::MAX.into())).unwrap_or(0);
    Error::OutOfBounds { start: clamp(start), end: clamp(end), len }
}

/// Checks that the first element, and with it every other, is aligned, and
/// lies a whole number of the storage's elements from its start.
///
/// Strides count elements, so all elements share what is true of the first.
#[inline]
fn check_alignment(memory: &Memory, byte_offset: u64, dtype: DataType) -> Result<(), Error> {
    if byte_offset != 0 {
        if let Some(size) = memory.dtype.byte_size() {
            if byte_offset.checked_rem(size as u64) != Some(0) {
                return Err(Error::Misaligned { dtype, align: size });
            }
        }
    }
    let address = (memory.ptr.addr() as u64).wrapping_add(byte_offset);
    match alignment(dtype) {
        // A multiple of a power of two has none of the bits below it.
        Some(align)
            if memory.device.has_addresses() && address & (align as u64).wrapping_sub(1) != 0 =>
        {
            Err(Error::Misaligned { dtype, align })
        }
        _ => Ok(()),
    }
}

/// Bytes that the address of an element must be a multiple of: the size of one
/// lane, or of one part of a complex number; at most 8. `None` for elements
/// that are packed into bytes.
#[inline]
const fn alignment(dtype: DataType) -> Option<usize> {
    match (dtype.code(), dtype.bits()) {
        (ffi::kDLComplex, 32) | (_, 16) => Some(2),
        (ffi::kDLComplex, 64) | (_, 32) => Some(4),
        (_, 64 | 128) => Some(8),
        (_, 8) => Some(1),
        _ => None,
    }
}
