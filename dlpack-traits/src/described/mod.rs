//! How elements lie in memory, and the proof that they lie inside it:
//! [`Layout`], and [`Described`].

mod as_layout;
mod placement;
mod plain;
mod resolve;
#[cfg(test)]
mod tests;

pub use as_layout::AsLayout;
pub use placement::{Layout, Order};
pub use plain::Plain;

#[cfg(test)]
pub(crate) use placement::Amount;
use resolve::{Borrowed, Resolved};
#[cfg(test)]
pub(crate) use resolve::{bytes_of, element_type, whole_bytes, whole_elements, widen};
pub(crate) use resolve::{out_of_bounds, stored_bits};

use crate::dims::Dims;
use crate::dtype::DataType;
use crate::error::Error;
use crate::ffi::{self, DLTensor};
use crate::flags::Flags;
use crate::layout::{self, Extent};
use crate::storage::Memory;
use crate::stream::StreamArg;
use crate::version::Version;

/// Described memory, every claim about which has been checked.
///
/// All elements lie inside the memory, are aligned, and are of a type that the
/// standard defines; of foreign memory, its producer answers for the last two.
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
    /// Bits that each of them takes.
    element_bits: i64,
    /// Number of elements.
    numel: i64,
    /// Whether the strides were made here, so that no two elements overlap.
    compact: bool,
    /// Flags that the layout asks for, whatever the memory allows.
    flags: Flags,
}

impl<'a> Described<'a> {
    /// [`new`](Self::new) of plain memory and a layout of borrowed numbers, either compact
    /// or with strides. `None` leaves it to `new`, which also knows what to call an error.
    ///
    /// Nothing here is moved that was written elsewhere. Where the types are known, a
    /// compact tensor is a few multiplications and comparisons.
    #[inline(always)]
    pub(crate) fn plain(memory: &Memory, layout: &Layout<'a>) -> Option<Self> {
        let Borrowed { shape, strides, byte_offset } = layout.as_borrowed()?;
        let (memory, size) = memory.as_plain()?;
        let (strides, numel, last, compact) = match strides {
            None => {
                let (strides, numel) = Dims::few_strides(shape)?;
                (strides, numel, numel.wrapping_sub(1), true)
            }
            Some(strides) if strides.len() == shape.len() => {
                let numel = layout::numel(shape).ok().filter(|&numel| numel != 0)?;
                let Extent { low: 0, high } = layout::extent_of_some(shape, strides).ok()? else {
                    return None;
                };
                (Dims::borrowed(strides), numel, high, false)
            }
            Some(_) => return None,
        };
        let len = u64::try_from(last).ok()?.checked_add(1)?.checked_mul(size as u64)?;
        let end = byte_offset.checked_add(len)?;
        if end > memory.byte_len as u64 {
            return None;
        }
        let align = alignment(memory.dtype)? as u64;
        let first = (memory.ptr.addr() as u64).wrapping_add(byte_offset);
        let whole = byte_offset == 0 || byte_offset.checked_rem(size as u64) == Some(0);
        if first & align.wrapping_sub(1) != 0 || !whole {
            return None;
        }
        Some(Self {
            memory,
            byte_offset,
            span: Span { start: byte_offset, end },
            dtype: memory.dtype,
            shape: Dims::borrowed(shape),
            strides,
            element_bits: stored_bits(memory.dtype, false),
            numel,
            compact,
            flags: Flags::NONE,
        })
    }

    /// Checks a layout against the memory that it is to describe.
    #[inline(always)]
    pub(crate) fn new(memory: Memory, mut layout: Layout<'a>) -> Result<Self, Error> {
        memory.check()?;
        if !memory.device.is_well_formed() {
            return Err(Error::NoSuchDevice { device: memory.device });
        }
        layout.padded |= memory.padded;
        let padded = layout.padded;
        let resolved = layout.resolve(&memory)?;
        let Resolved { dtype, element_bits, shape, strides, byte_offset } = resolved;
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
        let whole = (0, memory.byte_len as u64);
        let span = Span::new(memory.byte_len, whole, byte_offset, element_bits, extent)?;
        if numel != 0 {
            check_alignment(&memory, byte_offset, dtype)?;
        }
        let flags = if padded { Flags::IS_SUBBYTE_TYPE_PADDED } else { Flags::NONE };
        Ok(Self {
            memory,
            byte_offset,
            span,
            dtype,
            shape,
            strides,
            element_bits,
            numel,
            compact,
            flags,
        })
    }

    /// Moves the description to the memory of another owner, in which the
    /// elements are found by their address: all of them must lie in it.
    ///
    /// On an error the description is as it was.
    #[inline]
    pub(crate) fn relocate(&mut self, memory: &Memory) -> Result<(), Error> {
        memory.check()?;
        let from = &self.memory;
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
            check_alignment(memory, byte_offset, self.dtype)?;
            (self.byte_offset, self.span) = (byte_offset, Span { start, end });
        }
        self.memory = *memory;
        Ok(())
    }

    /// The same tensor in a copy of the bytes that it spans, which has no others.
    pub(crate) fn into_copy(self, memory: &Memory) -> Result<Self, Error> {
        memory.check()?;
        let (start, byte_len) = self.span();
        // READ_ONLY was about the memory that is copied.
        let flags = if self.is_padded() { Flags::IS_SUBBYTE_TYPE_PADDED } else { Flags::NONE };
        if memory.byte_len != byte_len {
            return Err(Error::ShareOutOfRange);
        }
        Ok(Self {
            memory: *memory,
            byte_offset: self.byte_offset.saturating_sub(start),
            span: Span { start: 0, end: self.span.end.saturating_sub(start) },
            flags,
            ..self
        })
    }

    /// The same tensor for readers only.
    pub(crate) fn into_read_only(self) -> Self {
        Self { flags: self.flags | Flags::READ_ONLY, ..self }
    }

    /// The version of the standard that a consumer must be told: ours, unless
    /// foreign elements are of a type that a later one added.
    #[inline]
    pub(crate) fn version(&self) -> Version {
        let ours = Version::CURRENT;
        let later = self.memory.foreign.map_or(0, |came| came.later);
        Version::new(ours.major, ours.minor.saturating_add(later.into()))
    }

    /// Bytes from the start of the storage to the first element.
    pub(crate) fn byte_offset(&self) -> u64 {
        self.byte_offset
    }

    /// The bytes of the storage that hold elements: where they begin, counted
    /// from its start, and how many they are.
    pub(crate) fn span(&self) -> (u64, usize) {
        // They lie inside the storage, so their number fits.
        let byte_len = usize::try_from(self.span.end.saturating_sub(self.span.start)).unwrap_or(0);
        (self.span.start, byte_len)
    }

    /// The flags that a consumer must be told.
    #[inline]
    pub(crate) fn flags(&self) -> Flags {
        if self.is_read_only() { self.flags | Flags::READ_ONLY } else { self.flags }
    }

    /// Bits that an element takes in memory.
    #[inline]
    pub(crate) fn element_bits(&self) -> i64 {
        self.element_bits
    }

    /// Bytes that an element takes in memory, if it takes whole ones.
    #[inline]
    pub(crate) fn element_bytes(&self) -> Option<usize> {
        if self.element_bits % 8 == 0 { usize::try_from(self.element_bits >> 3).ok() } else { None }
    }

    /// Whether elements narrower than a byte take a byte each.
    #[inline]
    pub(crate) fn is_padded(&self) -> bool {
        self.flags.contains(Flags::IS_SUBBYTE_TYPE_PADDED)
    }

    /// Whether a consumer must be told not to write: nobody may, or two
    /// elements share memory, so that one write would change several.
    #[inline]
    pub(crate) fn is_read_only(&self) -> bool {
        self.flags.contains(Flags::READ_ONLY)
            || self.memory.access.is_read_only()
            || (!self.compact && layout::may_overlap(self.shape(), self.strides()))
    }

    /// Synchronizes pending work on the memory with the consumer.
    ///
    /// # Errors
    ///
    /// Those of [`Memory::sync_for`].
    ///
    /// # Safety
    ///
    /// 1. The loan of the memory is not over.
    #[inline]
    pub(crate) unsafe fn sync_for(&self, consumer: StreamArg<'_>) -> Result<(), Error> {
        // SAFETY: 1. is 1. of this function.
        unsafe { self.memory.sync_for(consumer) }
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

    /// Shape and strides with what they are borrowed from.
    #[inline]
    pub(crate) fn dims(&self) -> [&Dims<'a>; 2] {
        [&self.shape, &self.strides]
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

/// A range of bytes, counted from the start of a storage.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl Span {
    /// The bytes of the elements `extent`, counted from `byte_offset`, if they
    /// are in the `window` of a storage of `len` bytes.
    #[inline(always)]
    pub(crate) fn new(
        len: usize,
        window: (u64, u64),
        byte_offset: u64,
        element_bits: i64,
        extent: Option<Extent>,
    ) -> Result<Self, Error> {
        if let Some(span) = Self::upwards(window, byte_offset, element_bits, extent) {
            return Ok(span);
        }
        // Elements may be narrower than a byte, so this counts bits. Nothing
        // wraps: an offset has 67 bits then, and an end 88 at the most.
        let offset = i128::from(byte_offset).wrapping_mul(8);
        let bits = i128::from(element_bits);
        let (low, end): (i128, i128) = match extent {
            Some(Extent { low, high }) => (low.into(), i128::from(high).wrapping_add(1)),
            None => (0, 0),
        };
        let start = offset.wrapping_add(low.wrapping_mul(bits)) >> 3;
        let end = offset.wrapping_add(end.wrapping_mul(bits)).wrapping_add(7) >> 3;
        match (u64::try_from(start), u64::try_from(end)) {
            (Ok(start), Ok(end)) if window.0 <= start && end <= window.1 => Ok(Self { start, end }),
            _ => Err(out_of_bounds(start, end, len)),
        }
    }
}

/// Checks that the first element, and with it every other, is aligned, and
/// lies a whole number of the storage's elements from its start.
///
/// Strides count elements, so all elements share what is true of the first.
impl Span {
    /// [`new`](Self::new) of elements of whole bytes, none of them before the first, that
    /// lie inside of the window.
    #[inline(always)]
    fn upwards(
        window: (u64, u64),
        byte_offset: u64,
        element_bits: i64,
        extent: Option<Extent>,
    ) -> Option<Self> {
        let Extent { low: 0, high } = extent? else { return None };
        let bits = u64::try_from(element_bits).ok().filter(|bits| bits % 8 == 0)?;
        let len = u64::try_from(high).ok()?.checked_add(1)?.checked_mul(bits >> 3)?;
        let end = byte_offset.checked_add(len)?;
        let inside = window.0 <= byte_offset && end <= window.1;
        inside.then_some(Self { start: byte_offset, end })
    }
}

#[inline]
pub(crate) fn check_alignment(
    memory: &Memory,
    byte_offset: u64,
    dtype: DataType,
) -> Result<(), Error> {
    if byte_offset != 0 {
        if let Some(size) = memory.element_size() {
            // The offset from a foreign handle is whatever its producer said.
            let anywhere = memory.foreign.is_some() && !memory.device.has_addresses();
            if byte_offset.checked_rem(size as u64) != Some(0) && !anywhere {
                return Err(Error::Misaligned { dtype, align: size });
            }
        }
    }
    let address = (memory.ptr.addr() as u64).wrapping_add(byte_offset);
    match alignment(dtype) {
        // A multiple of a power of two has none of the bits below it.
        Some(align)
            if memory.device.has_addresses()
                && address & (align as u64).wrapping_sub(1) != 0
                && !memory.vouches_for(dtype) =>
        {
            Err(Error::Misaligned { dtype, align })
        }
        _ => Ok(()),
    }
}

/// Bytes that the address of an element must be a multiple of: the size of one
/// lane, or of one part of a complex number. `None` for elements
/// that are packed into bytes.
#[inline]
pub(crate) const fn alignment(dtype: DataType) -> Option<usize> {
    match (dtype.code(), dtype.bits()) {
        (ffi::kDLComplex, 32) | (_, 16) => Some(2),
        (ffi::kDLComplex, 64) | (_, 32) => Some(4),
        (ffi::kDLComplex, 128) | (_, 64) => Some(8),
        (_, 128) => Some(16),
        (_, 8) => Some(1),
        _ => None,
    }
}
