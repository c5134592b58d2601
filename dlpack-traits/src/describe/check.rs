//! The check of a description against the memory that it describes: [`Checked`].
//!
//! [`Shaped::usual`] proves in 64 bits what is true of nearly every tensor, inline, so
//! that whatever a type does not say costs nothing. [`Shaped::exact`] is cold and the same
//! for all types: it repeats the check in 128 bits, and either completes it or names the
//! error.

use super::Shaped;
use super::slot::Described;
use super::walk::Walk;
use crate::described::{
    Amount, Span, alignment, check_alignment, element_type, stored_bits, whole_bytes,
};
use crate::dtype::DataType;
use crate::error::Error;
use crate::ffi::{self, DLTensor};
use crate::flags::Flags;
use crate::layout::{self, Extent, MAX_NDIM};
use crate::storage::{Memory, Terms};
use crate::version::Version;

/// A tensor that was described in a slot. Every claim about its memory is checked.
#[derive(Debug)]
pub(super) struct Checked<'a> {
    pub(super) described: Described<'a>,
    /// The bytes of the storage that hold elements; empty where there are none.
    pub(super) span: Span,
    /// What a consumer is told, READ_ONLY included.
    pub(super) flags: Flags,
    pub(super) terms: Terms,
    pub(super) version: Version,
}

impl<'a> Shaped<'a> {
    /// Checks what was said against the memory, and writes the C struct into the slot.
    #[inline(always)]
    pub(super) fn check(mut self, memory: &Memory) -> Result<Checked<'a>, Error> {
        if self.has_units(memory) {
            self = self.in_elements(memory)?;
        }
        if let Some(place) = self.usual(memory) {
            return Ok(self.finish(memory, &place));
        }
        // Rebuilt, because a call that takes the address of a value forces all of it into
        // memory, on the path above too (measured: 28 ns an export, 20 without).
        let Self { lists, strides, pitch, offset, len, dtype, device, padded, read_only, fault } =
            self;
        Self { lists, strides, pitch, offset, len, dtype, device, padded, read_only, fault }
            .exact(&{ *memory })
    }

    /// The check of nearly every tensor: elements of whole bytes, at an address, in a
    /// type that needs no conversion, at least one of them, with numbers that fit in 64
    /// bits. `None` says nothing about the tensor.
    #[inline(always)]
    fn usual(&mut self, memory: &Memory) -> Option<Place> {
        if self.fault.is_some() || self.padded || !memory.is_plain() {
            return None;
        }
        if self.device.is_some_and(|device| device != memory.device) {
            return None;
        }
        let dtype = match self.dtype {
            Some(dtype) if dtype != memory.dtype => {
                let numbers = dtype.is_well_formed() && dtype.code() != ffi::kDLOpaqueHandle;
                if memory.dtype != DataType::U8 || !numbers {
                    return None;
                }
                dtype
            }
            _ if memory.dtype.is_well_formed() => memory.dtype,
            _ => return None,
        };
        let size = dtype.byte_size()? as u64;
        let align = alignment(dtype)? as u64;
        let explicit = self.lists.is_strided();
        let walk = if explicit {
            Walk::strided(self.lists.shape(), self.lists.strides())?
        } else {
            let (shape, strides) = self.lists.shape_and_place();
            let walk = Walk::row_major(shape, strides)?;
            // SAFETY: 1. A walk that returns a result wrote the stride of every axis.
            unsafe { self.lists.assume_strides() };
            walk
        };
        let byte_offset = match self.offset {
            Amount::Bytes(bytes) if bytes == 0 || bytes.checked_rem(size) == Some(0) => bytes,
            Amount::Bytes(_) => return None,
            Amount::Elements(elements) => elements.unsigned_abs().checked_mul(size)?,
        };
        let below = walk.low.unsigned_abs().checked_mul(size)?;
        let above = walk.high.unsigned_abs().checked_add(1)?.checked_mul(size)?;
        let start = byte_offset.checked_sub(below)?;
        let end = byte_offset.checked_add(above)?;
        let first = (memory.ptr.addr() as u64).wrapping_add(byte_offset);
        if end > memory.byte_len as u64 || first & align.wrapping_sub(1) != 0 {
            return None;
        }
        let overlaps = explicit
            && !walk.apart
            && layout::may_overlap(self.lists.shape(), self.lists.strides());
        let read_only = self.read_only || overlaps || memory.access.is_read_only();
        let flags = if read_only { Flags::READ_ONLY } else { Flags::NONE };
        Some(Place { dtype, byte_offset, span: Span { start, end }, empty: false, flags })
    }

    /// The check of every tensor, in numbers that cannot overflow.
    #[cold]
    #[inline(never)]
    fn exact(mut self, memory: &Memory) -> Result<Checked<'a>, Error> {
        if let Some(error) = self.fault {
            return Err(error);
        }
        let dtype = self.element_type(memory)?;
        let padded = self.padded | memory.padded;
        let element_bits = stored_bits(dtype, padded);
        let byte_offset = match self.offset {
            Amount::Bytes(bytes) => bytes,
            Amount::Elements(elements) => whole_bytes(elements, element_bits, dtype)?,
        };
        let numel = layout::numel(self.lists.shape())?;
        let explicit = self.lists.is_strided();
        if !explicit {
            let mut room = [0; MAX_NDIM];
            let strides = room.get_mut(..self.lists.ndim()).unwrap_or_default();
            layout::row_major_strides(self.lists.shape(), strides);
            self.lists.set_strides(strides)?;
        }
        let extent = match numel {
            0 => None,
            _ if explicit => {
                Some(layout::extent_of_some(self.lists.shape(), self.lists.strides())?)
            }
            _ => Some(Extent { low: 0, high: numel.saturating_sub(1) }),
        };
        let whole = (0, memory.byte_len as u64);
        let span = Span::new(memory.byte_len, whole, byte_offset, element_bits, extent)?;
        if numel != 0 {
            check_alignment(memory, byte_offset, dtype)?;
        }
        let overlaps = explicit && layout::may_overlap(self.lists.shape(), self.lists.strides());
        let read_only = self.read_only || overlaps || memory.access.is_read_only();
        let mut flags = if padded { Flags::IS_SUBBYTE_TYPE_PADDED } else { Flags::NONE };
        if read_only {
            flags = flags | Flags::READ_ONLY;
        }
        let place = Place { dtype, byte_offset, span, empty: numel == 0, flags };
        Ok(self.finish(memory, &place))
    }

    /// The type of the elements, if the memory exists and can have it.
    pub(super) fn element_type(&self, memory: &Memory) -> Result<DataType, Error> {
        memory.check()?;
        if let Some(device) = self.device.filter(|&device| device != memory.device) {
            return Err(Error::DeviceMismatch { device, storage: memory.device });
        }
        element_type(self.dtype.unwrap_or(memory.dtype), memory)
    }

    /// Writes the C struct.
    #[inline(always)]
    fn finish(self, memory: &Memory, place: &Place) -> Checked<'a> {
        let (data, byte_offset) = if !memory.device.has_addresses() {
            (memory.ptr, place.byte_offset)
        } else if place.empty {
            (core::ptr::null_mut(), 0)
        } else {
            // The first element lies inside the memory, so its offset fits.
            let byte_offset = usize::try_from(place.byte_offset).unwrap_or(0);
            (memory.ptr.wrapping_add(byte_offset), 0)
        };
        let described = self.lists.write(DLTensor {
            data: data.cast(),
            device: memory.device.to_ffi(),
            ndim: 0,
            dtype: place.dtype.to_ffi(),
            shape: core::ptr::null_mut(),
            strides: core::ptr::null_mut(),
            byte_offset,
        });
        let later = memory.foreign.map_or(0, |came| came.later);
        let ours = Version::CURRENT;
        let version = Version::new(ours.major, ours.minor.saturating_add(later.into()));
        Checked { described, span: place.span, flags: place.flags, terms: memory.terms(), version }
    }
}

/// Where the elements are in the storage, and what is to be said of them.
struct Place {
    dtype: DataType,
    /// From the start of the storage to the first element.
    byte_offset: u64,
    span: Span,
    /// Whether there are no elements.
    empty: bool,
    flags: Flags,
}
