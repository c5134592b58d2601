//! Arithmetic on the bytes and bits of elements. All of it is checked.

use super::layout::{Distance, Unit};
use crate::dtype::DataType;
use crate::error::Error;
use crate::ffi;
use crate::storage::Memory;
use crate::strides::Extent;

/// A range of bytes, counted from the start of a storage, or from a handle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(super) start: u64,
    pub(super) end: u64,
}

impl Span {
    /// Returns the bytes of the elements `extent`, counted from `byte_offset`, if they are
    /// inside of the `window` of a storage of `len` bytes. Without elements there are no
    /// bytes, at any offset: the first column of a matrix without rows is valid.
    pub(super) fn new(
        len: usize,
        window: (u64, u64),
        byte_offset: u64,
        element_bits: i64,
        extent: Option<Extent>,
    ) -> Result<Self, Error> {
        let Some(Extent { low, high }) = extent else {
            return Ok(Self { start: window.0, end: window.0 });
        };
        // Elements may be narrower than a byte, so this counts bits. Nothing wraps: an
        // offset has at most 67 bits then, and an end at most 88.
        let offset = i128::from(byte_offset).wrapping_mul(8);
        let bits = i128::from(element_bits);
        let (low, end) = (i128::from(low), i128::from(high).wrapping_add(1));
        let start = offset.wrapping_add(low.wrapping_mul(bits)) >> 3;
        let end = offset.wrapping_add(end.wrapping_mul(bits)).wrapping_add(7) >> 3;
        match (u64::try_from(start), u64::try_from(end)) {
            (Ok(start), Ok(end)) if window.0 <= start && end <= window.1 => Ok(Self { start, end }),
            _ => Err(out_of_bounds(start, end, len)),
        }
    }

    /// The same bytes, counted from a place that many bytes below. Both ends are inside of a
    /// [`Window`](crate::storage::Window) with that offset, so they fit.
    pub(super) const fn after(self, bytes: u64) -> Self {
        Self { start: self.start.wrapping_add(bytes), end: self.end.wrapping_add(bytes) }
    }
}

/// Checks that all elements together have at most `isize::MAX` bytes, as a contiguous copy of them.
/// Elements that several indices name count as often as they are named.
///
/// # Errors
///
/// [`Error::SizeOverflow`].
#[inline]
pub(crate) fn all_fit(numel: i64, bits: i64) -> Result<(), Error> {
    // An element has less than 2^24 bits, so this does not saturate.
    let bits = i128::from(numel).saturating_mul(bits.into());
    match isize::try_from(bits.saturating_add(7) >> 3) {
        Ok(_) => Ok(()),
        Err(_) => Err(Error::SizeOverflow),
    }
}

/// Replaces the stride of the slowest axis with a pitch.
pub(super) fn widen(stride: &mut i64, pitch: Distance, bits: i64) -> Result<(), Error> {
    let row = *stride;
    let number = pitch.number.ok_or(Error::PitchOutOfRange)?;
    let (pitch, too_small) = match pitch.unit {
        Unit::Elements => (number, Error::PitchTooSmall { pitch: number, row }),
        Unit::Bytes => {
            let bytes = number;
            let pitch = whole_elements(bytes, bits).ok_or(Error::PitchNotWhole { bytes, bits })?;
            // Elements that are narrower than a byte may end inside of one.
            let row = row.saturating_mul(bits).saturating_add(7) >> 3;
            (pitch, Error::BytePitchTooSmall { bytes, row })
        }
    };
    if pitch < *stride {
        return Err(too_small);
    }
    *stride = pitch;
    Ok(())
}

/// The element type of a layout, if the storage can have it.
#[inline(always)]
pub(super) fn element_type(dtype: DataType, memory: &Memory) -> Result<DataType, Error> {
    let storage = memory.dtype;
    // Bytes can be read as numbers of any type, but not as handles.
    let is_bytes = storage == DataType::U8 && memory.axes.is_empty();
    if !dtype.is_well_formed() && !memory.vouches_for(dtype) {
        Err(Error::UnsupportedDType { dtype })
    } else if dtype == storage || (is_bytes && dtype.code() != ffi::kDLOpaqueHandle) {
        Ok(dtype)
    } else {
        Err(Error::DTypeMismatch { dtype, storage })
    }
}

/// Bits that an element occupies in memory.
#[inline]
pub(crate) fn stored_bits(dtype: DataType, padded: bool) -> i64 {
    let bits = i64::from(dtype.element_bits());
    // An element has less than 2^24 bits.
    if padded { bits.saturating_add(7) & !7 } else { bits }
}

/// Converts a number of elements to bytes, if it ends at a byte boundary.
pub(super) fn whole_bytes(elements: i64, bits: i64, dtype: DataType) -> Result<u64, Error> {
    let bits = i128::from(elements).saturating_mul(bits.into());
    match u64::try_from(bits >> 3) {
        Ok(bytes) if bits % 8 == 0 => Ok(bytes),
        Ok(_) => Err(Error::InsideByte { dtype }),
        Err(_) => Err(Error::SizeOverflow),
    }
}

/// The number of bytes that contain a number of elements.
pub(super) fn bytes_of(elements: i64, bits: i64) -> Result<u64, Error> {
    let bits = i128::from(elements).saturating_mul(bits.into());
    u64::try_from(bits.saturating_add(7) >> 3).map_err(|_| Error::SizeOverflow)
}

/// Converts a number of bytes to elements; `None` if it is not a multiple.
pub(super) fn whole_elements(bytes: i64, bits: i64) -> Option<i64> {
    let given = i128::from(bytes).saturating_mul(8);
    let elements = given.checked_div(bits.into());
    match elements.map(|elements| (i64::try_from(elements), elements.checked_mul(bits.into()))) {
        Some((Ok(elements), Some(exact))) if exact == given => Some(elements),
        _ => None,
    }
}

/// The error for elements outside of the range in which they must be.
#[cold]
pub(super) fn out_of_bounds(start: i128, end: i128, len: usize) -> Error {
    let clamp = |n: i128| i64::try_from(n.clamp(i64::MIN.into(), i64::MAX.into())).unwrap_or(0);
    Error::OutOfBounds { start: clamp(start), end: clamp(end), len }
}
