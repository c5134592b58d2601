//! The fast path of `check.rs`: nearly every tensor, in one pass over its lists.

use super::bytes::{Span, stored_bits};
use super::check::{Given, GivenStrides, Placement};
use super::layout::{Distance, Unit};
use super::slot::SlotMut;
use crate::alignment::whole_byte_alignment;
use crate::device::Device;
use crate::dtype::DataType;
use crate::ffi;
use crate::flags::Flags;
use crate::storage::Memory;

impl Given<'_> {
    /// Writes the lists and the C struct of a tensor of at most 8 dimensions, at an address, of
    /// elements that end at a byte, at least one of them, with numbers that fit in 64 bits. `None`
    /// does not mean that the tensor is invalid; `exact.rs` writes everything again.
    #[inline(always)]
    pub(super) fn write_fast(&self, slot: &mut SlotMut<'_>, memory: &Memory) -> Option<Placement> {
        let claims = &self.claims;
        if claims.error.is_some() || !memory.is_common() || !memory.device.is_well_formed() {
            return None;
        }
        if claims.device.is_some_and(|device| device != memory.device) {
            return None;
        }
        let dtype = claims.dtype.unwrap_or(memory.dtype);
        let bytes_are_stored = memory.dtype == DataType::U8 && memory.axes.is_empty();
        // Storages of bytes nearly always have a constant type, so nothing is left of this test, and the
        // comparison of both types is not made (measured: 4 instructions).
        let is_handle = dtype.code() == ffi::kDLOpaqueHandle;
        let is_other = if bytes_are_stored { is_handle } else { dtype != memory.dtype };
        if is_other {
            return None;
        }
        let padded = claims.padded || memory.padded;
        let Unpacked { size, align, shift } = Unpacked::of(dtype, padded, memory.device)?;
        if shift.mask() != 0 && !memory.axes.is_empty() {
            return None;
        }

        // The lists.
        let shape = self.shape.used(claims.rank)?;
        let ndim = shape.len().wrapping_add(memory.axes.len());
        let mut room = slot.inline_room(ndim)?;
        let parts = match memory.axes {
            [] => 1,
            axes => room.write_axes(shape.len(), axes)?,
        };
        // Offsets, strides and lengths count elements of the storage, which may be arrays of `parts`
        // elements in the sense of DLPack.
        let counted = size.checked_mul(parts.unsigned_abs())?;
        let reach = match self.strides {
            GivenStrides::Contiguous(order, pitch) => {
                let pitch = match pitch {
                    None => None,
                    Some(pitch) => Some(pitch.in_parts(parts, size, counted, shift)?),
                };
                room.write_contiguous(shape, order, pitch, parts)?
            }
            GivenStrides::Explicit(strides, unit) => {
                let strides = strides.used(claims.rank)?;
                let step = |number: Option<i64>| {
                    Distance { number, unit }.in_parts(parts, size, counted, shift)
                };
                room.write_strided(shape, strides, step, parts)?
            }
        };

        // The place.
        let byte_offset = match (u64::try_from(claims.offset.number?).ok()?, claims.offset.unit) {
            (0, Unit::Bytes) => 0,
            (bytes, Unit::Bytes) => {
                // A multiple of the storage's elements, which may be bytes.
                let stored = if bytes_are_stored { 1 } else { counted };
                let whole = bytes.checked_rem(stored) == Some(0);
                if whole { bytes } else { return None }
            }
            (elements, Unit::Elements) if elements & shift.mask() == 0 => {
                shift.bytes(elements).checked_mul(counted)?
            }
            (_, Unit::Elements) => return None,
        };
        let above = shift.bytes(reach.above()).checked_mul(size)?;
        // Strides are rarely negative.
        let below = match reach.below() {
            0 => 0,
            _ if shift.mask() != 0 => return None,
            below => below.checked_mul(size)?,
        };
        let start = byte_offset.checked_sub(below)?;
        let end = byte_offset.checked_add(above)?;
        let first = (memory.window.data.addr() as u64).wrapping_add(byte_offset);
        let whole = memory.window.byte_len as u64;
        let inside = if self.fills_storage() { end == whole } else { end <= whole };
        // The alignment first (measured: 2 instructions less per borrowed view).
        if first & align.wrapping_sub(1) != 0 || !inside {
            return None;
        }
        if let Some(Distance { number, unit }) = claims.len {
            let len = u64::try_from(number?).ok()?;
            let len = match unit {
                Unit::Bytes => len,
                Unit::Elements => shift.bytes(len).checked_mul(counted)?,
            };
            let last = byte_offset.checked_add(len)?;
            if last > whole || end > last || start < byte_offset {
                return None;
            }
        }
        // Rare, and the only case in which elements inside of the memory may have more bytes, all
        // together, than it: too many for an import.
        if reach.repeats != 1 && !reach.bytes_fit(size) {
            return None;
        }
        let read_only = claims.read_only
            || memory.access.is_read_only()
            // SAFETY: 1. The pass above wrote each dimension and stride, and those of the elements.
            || (reach.repeats != 1 && unsafe { room.may_overlap() });
        let mut flags = if read_only { Flags::READ_ONLY } else { Flags::NONE };
        if padded {
            flags = flags | Flags::IS_SUBBYTE_TYPE_PADDED;
        }
        // The first element is inside of the memory, so its offset fits.
        let data = memory.window.data.wrapping_add(usize::try_from(byte_offset).unwrap_or(0));
        slot.write(ndim, memory, dtype, (data, 0));
        Some(Placement { ndim, data, span: Span { start, end }, flags })
    }
}

/// The size of an element, or of the byte in which several elements are.
struct Unpacked {
    size: u64,
    align: u64,
    shift: Shift,
}

impl Unpacked {
    /// `None` for elements that may be in two bytes, and for types that are not defined.
    #[inline(always)]
    fn of(dtype: DataType, padded: bool, device: Device) -> Option<Self> {
        match dtype.whole_bytes() {
            Some(element) => Some(Self {
                size: element.size as u64,
                align: whole_byte_alignment(element, device) as u64,
                shift: Shift(0),
            }),
            None if !dtype.is_well_formed() => None,
            None if padded => {
                let size = stored_bits(dtype, true).unsigned_abs() >> 3;
                Some(Self { size, align: 1, shift: Shift(0) })
            }
            None => {
                let per_byte = 8_u32.checked_div(dtype.element_bits())?;
                let fits = per_byte.wrapping_mul(dtype.element_bits()) == 8;
                fits.then_some(Self { size: 1, align: 1, shift: Shift(per_byte.trailing_zeros()) })
            }
        }
    }
}

/// The logarithm of the number of elements in a byte; 0 for larger ones.
#[derive(Clone, Copy)]
struct Shift(u32);

impl Shift {
    #[inline(always)]
    fn mask(self) -> u64 {
        1_u64.wrapping_shl(self.0).wrapping_sub(1)
    }

    /// The number of bytes, or of larger elements, that contain that many elements.
    #[inline(always)]
    fn bytes(self, elements: u64) -> u64 {
        // A branch, which a type that is known at compile time does not have.
        if self.0 == 0 { elements } else { elements.div_ceil(1_u64.wrapping_shl(self.0)) }
    }
}

impl Distance {
    /// As a number of parts of elements, `size` bytes each; an element has `counted` bytes. `None`
    /// unless it is a whole number of elements.
    #[inline(always)]
    fn in_parts(self, parts: i64, size: u64, counted: u64, shift: Shift) -> Option<i64> {
        let number = self.number?;
        match self.unit {
            Unit::Elements => number.checked_mul(parts),
            Unit::Bytes if shift.mask() != 0 => None,
            Unit::Bytes => {
                let whole = number.unsigned_abs().checked_rem(counted) == Some(0);
                if whole { number.checked_div(i64::try_from(size).ok()?) } else { None }
            }
        }
    }
}
