//! A layout in any units, and a storage, make a layout in the units of the
//! wire: elements for dimensions and strides, bytes for the offset.

use super::placement::{Amount, Order, Strides};
use super::{Layout, Span};
use crate::dims::Dims;
use crate::dtype::DataType;
use crate::error::Error;
use crate::ffi;
use crate::layout::{self, Extent};
use crate::storage::Memory;

/// A layout whose units are those of the wire.
pub(super) struct Resolved<'a> {
    pub(super) dtype: DataType,
    /// Bits that an element takes in memory.
    pub(super) element_bits: i64,
    pub(super) shape: Dims<'a>,
    /// In elements; `None` for row-major.
    pub(super) strides: Option<Dims<'a>>,
    /// From the start of the storage to the first element.
    pub(super) byte_offset: u64,
}

/// A layout in those units whose numbers are somebody else's, and of which there is no
/// more to say.
pub(super) struct Borrowed<'a> {
    pub(super) shape: &'a [i64],
    /// In elements; `None` for row-major.
    pub(super) strides: Option<&'a [i64]>,
    /// From the start of the storage to the first element.
    pub(super) byte_offset: u64,
}

impl<'a> Layout<'a> {
    /// What it says, if that is no more than this.
    #[inline(always)]
    pub(super) fn as_borrowed(&self) -> Option<Borrowed<'a>> {
        let Self { len: None, dtype: None, device: None, padded: false, .. } = self else {
            return None;
        };
        let Self { shape, strides, offset: Amount::Bytes(byte_offset), .. } = self else {
            return None;
        };
        let byte_offset = *byte_offset;
        let strides = match strides {
            Strides::Compact { order: Order::RowMajor, pitch: None } => None,
            Strides::Elements(strides) => Some(strides.as_borrowed()?),
            Strides::Compact { .. } | Strides::Bytes(_) => return None,
        };
        Some(Borrowed { shape: shape.as_borrowed()?, strides, byte_offset })
    }

    /// Brings the layout into the units of the wire.
    #[inline(always)]
    pub(super) fn resolve(self, memory: &Memory) -> Result<Resolved<'a>, Error> {
        if let Some(device) = self.device {
            if device != memory.device {
                return Err(Error::DeviceMismatch { device, storage: memory.device });
            }
        }
        let dtype = element_type(self.dtype.unwrap_or(memory.dtype), memory)?;
        let element_bits = stored_bits(dtype, self.padded);
        match self {
            Self { shape, strides, offset: Amount::Bytes(byte_offset), len: None, .. }
                if memory.axes.is_empty() && strides.are_plain() =>
            {
                let strides = strides.into_elements();
                Ok(Resolved { dtype, element_bits, shape, strides, byte_offset })
            }
            layout => layout.resolve_units(memory, dtype, element_bits),
        }
    }

    /// [`resolve`](Self::resolve) where units differ or elements have axes.
    #[cold]
    fn resolve_units(
        self,
        memory: &Memory,
        dtype: DataType,
        element_bits: i64,
    ) -> Result<Resolved<'a>, Error> {
        // What the user counts are elements of the storage, which may be rows
        // of what the wire counts.
        let inner = layout::numel(memory.axes)?;
        let counted_bits = element_bits.saturating_mul(inner);
        let byte_offset = match self.offset {
            Amount::Bytes(bytes) => bytes,
            Amount::Elements(elements) => whole_bytes(elements, counted_bits, dtype)?,
        };
        let whole = memory.byte_len as u64;
        let window = match self.len {
            None => None,
            Some(len) => {
                let len = match len {
                    Amount::Bytes(bytes) => bytes,
                    Amount::Elements(elements) => bytes_of(elements, counted_bits)?,
                };
                let end = byte_offset.checked_add(len).ok_or(Error::SizeOverflow)?;
                if end > whole {
                    return Err(out_of_bounds(byte_offset.into(), end.into(), memory.byte_len));
                }
                // That of the whole storage is checked for every tensor.
                Some((byte_offset, end)).filter(|&window| window != (0, whole))
            }
        };
        let strides = self.strides.resolve(self.shape.as_slice(), counted_bits)?;
        let (shape, strides) = match (memory.axes, strides) {
            ([], strides) => (self.shape, strides),
            (axes, None) => (joined(self.shape.as_slice(), 1, axes)?, None),
            (axes, Some(outer)) => {
                let mut rows = [0; layout::MAX_NDIM];
                let rows = rows.get_mut(..axes.len()).unwrap_or_default();
                layout::row_major_strides(axes, rows);
                let strides = joined(outer.as_slice(), inner, rows)?;
                (joined(self.shape.as_slice(), 1, axes)?, Some(strides))
            }
        };
        let resolved = Resolved { dtype, element_bits, shape, strides, byte_offset };
        match window {
            Some(window) => resolved.check_window(memory, window),
            None => Ok(resolved),
        }
    }
}

impl Resolved<'_> {
    /// Checks that the elements lie in a part of the storage.
    fn check_window(self, memory: &Memory, window: (u64, u64)) -> Result<Self, Error> {
        let shape = self.shape.as_slice();
        let some = layout::numel(shape)? != 0;
        let extent = match self.strides.as_ref().map(Dims::as_slice) {
            // That they are as many is checked for every tensor.
            Some(strides) if strides.len() != shape.len() => return Ok(self),
            Some(strides) => some.then(|| layout::extent_of_some(shape, strides)).transpose()?,
            None => {
                some.then_some(Extent { low: 0, high: layout::numel(shape)?.saturating_sub(1) })
            }
        };
        match Span::new(memory.byte_len, window, self.byte_offset, self.element_bits, extent) {
            Ok(_) => Ok(self),
            Err(Error::OutOfBounds { start, end, .. }) => {
                let place = |byte| usize::try_from(byte).unwrap_or(memory.byte_len);
                let (from, to) = (place(window.0), place(window.1));
                Err(Error::OutsideWindow { start, end, from, to })
            }
            Err(error) => Err(error),
        }
    }
}

impl<'a> Strides<'a> {
    /// Whether nothing has to be computed but row-major strides.
    #[inline]
    fn are_plain(&self) -> bool {
        matches!(
            self,
            Strides::Compact { order: Order::RowMajor, pitch: None } | Strides::Elements(_)
        )
    }

    /// Strides in elements, if they were given so.
    #[inline]
    fn into_elements(self) -> Option<Dims<'a>> {
        if let Strides::Elements(strides) = self { Some(strides) } else { None }
    }

    /// Strides in elements of `bits`; `None` for row-major.
    fn resolve(self, shape: &[i64], bits: i64) -> Result<Option<Dims<'a>>, Error> {
        match self {
            Strides::Compact { order: Order::RowMajor, pitch: None } => Ok(None),
            Strides::Elements(strides) => Ok(Some(strides)),
            Strides::Bytes(bytes) => {
                let bytes = bytes.as_slice();
                Dims::filled(bytes.len(), |strides| {
                    for (axis, (stride, &bytes)) in strides.iter_mut().zip(bytes).enumerate() {
                        *stride = whole_elements(bytes, bits)
                            .ok_or(Error::StrideNotWhole { axis, bytes })?;
                    }
                    Ok(())
                })
                .map(Some)
            }
            Strides::Compact { order, pitch } => {
                let strides = Dims::filled(shape.len(), |strides| {
                    let slowest = match order {
                        Order::RowMajor => {
                            layout::row_major_strides(shape, strides);
                            0
                        }
                        Order::ColumnMajor => {
                            layout::column_major_strides(shape, strides);
                            shape.len().saturating_sub(1)
                        }
                    };
                    match (pitch, strides.get_mut(slowest)) {
                        (Some(pitch), Some(stride)) => widen(stride, pitch, bits),
                        _ => Ok(()),
                    }
                })?;
                Ok(Some(strides))
            }
        }
    }
}

/// Widens the step of the slowest axis to a pitch.
pub(crate) fn widen(stride: &mut i64, pitch: Amount, bits: i64) -> Result<(), Error> {
    let pitch = match pitch {
        Amount::Elements(elements) => elements,
        Amount::Bytes(bytes) => {
            let bytes = i64::try_from(bytes).map_err(|_| Error::SizeOverflow)?;
            whole_elements(bytes, bits).ok_or(Error::PitchNotWhole { bytes, bits })?
        }
    };
    if pitch < *stride {
        return Err(Error::PitchTooSmall { pitch, row: *stride });
    }
    *stride = pitch;
    Ok(())
}

/// The element type that a layout makes of a storage.
#[inline]
pub(crate) fn element_type(dtype: DataType, memory: &Memory) -> Result<DataType, Error> {
    let storage = memory.dtype;
    // Bytes can be read as any numbers, but nothing makes a handle of them.
    let is_bytes = storage == DataType::U8 && memory.axes.is_empty();
    if !dtype.is_well_formed() && !memory.vouches_for(dtype) {
        Err(Error::UnsupportedDType { dtype })
    } else if dtype == storage || (is_bytes && dtype.code() != ffi::kDLOpaqueHandle) {
        Ok(dtype)
    } else {
        Err(Error::DTypeMismatch { dtype, storage })
    }
}

/// Bits that an element takes in memory.
#[inline]
pub(crate) fn stored_bits(dtype: DataType, padded: bool) -> i64 {
    let bits = i64::from(dtype.element_bits());
    // An element has less than 2^24 bits.
    if padded { bits.saturating_add(7) & !7 } else { bits }
}

/// A number of elements in bytes, if it ends where a byte ends.
pub(crate) fn whole_bytes(elements: i64, bits: i64, dtype: DataType) -> Result<u64, Error> {
    let bits = i128::from(elements).saturating_mul(bits.into());
    match u64::try_from(bits >> 3) {
        Ok(bytes) if bits % 8 == 0 => Ok(bytes),
        Ok(_) => Err(Error::InsideByte { dtype }),
        Err(_) => Err(Error::SizeOverflow),
    }
}

/// The bytes that hold a number of elements.
pub(crate) fn bytes_of(elements: i64, bits: i64) -> Result<u64, Error> {
    let bits = i128::from(elements).saturating_mul(bits.into());
    u64::try_from(bits.saturating_add(7) >> 3).map_err(|_| Error::SizeOverflow)
}

/// A number of bytes in elements; nothing if one would be cut.
pub(crate) fn whole_elements(bytes: i64, bits: i64) -> Option<i64> {
    let given = i128::from(bytes).saturating_mul(8);
    let elements = given.checked_div(bits.into());
    match elements.map(|elements| (i64::try_from(elements), elements.checked_mul(bits.into()))) {
        Some((Ok(elements), Some(exact))) if exact == given => Some(elements),
        _ => None,
    }
}

/// `outer`, each times `factor`, and then `inner`.
fn joined(outer: &[i64], factor: i64, inner: &[i64]) -> Result<Dims<'static>, Error> {
    Dims::filled(outer.len().saturating_add(inner.len()), |dims| {
        let (front, back) = dims.split_at_mut(outer.len());
        for (to, &from) in front.iter_mut().zip(outer) {
            *to = from.checked_mul(factor).ok_or(Error::SizeOverflow)?;
        }
        back.copy_from_slice(inner);
        Ok(())
    })
}

/// The error for elements that lie outside of where they may.
#[cold]
pub(crate) fn out_of_bounds(start: i128, end: i128, len: usize) -> Error {
    let clamp = |n: i128| i64::try_from(n.clamp(i64::MIN.into(), i64::MAX.into())).unwrap_or(0);
    Error::OutOfBounds { start: clamp(start), end: clamp(end), len }
}
