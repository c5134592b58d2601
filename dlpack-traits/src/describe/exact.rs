//! The slow path of `check.rs`: every tensor, in numbers that cannot overflow.
//!
//! An offset is a whole number of elements of the storage: one that splits an element of a
//! `Vec<f64>` is rejected even if the resulting address is aligned.

use super::bytes::{
    Span, all_fit, bytes_of, element_type, out_of_bounds, stored_bits, whole_bytes, whole_elements,
    widen,
};
use super::check::{Given, GivenStrides, Numbers, Placement};
use super::layout::{Claims, Distance, Order, Unit};
use super::slot::{Room, SlotMut};
use super::walk::contiguous;
use crate::alignment::check_alignment;
use crate::dims::Ints;
use crate::dtype::DataType;
use crate::error::Error;
use crate::flags::Flags;
use crate::storage::{InObject, Memory, Strided, Window};
use crate::strides::{self, Extent};

impl Given<'_> {
    /// Validates and writes any tensor, or returns the error. `own` are the strides of a memory that
    /// is not contiguous, for a layout that is only a shape.
    #[inline(never)]
    pub(super) fn write_exactly(
        &self,
        mut slot: SlotMut<'_>,
        memory: &Memory,
        own: Option<Strided<'_>>,
    ) -> Result<Placement, Error> {
        if let Some(error) = self.claims.error {
            return Err(error);
        }
        let shape = used(self.shape, self.claims.rank)?;
        let strides = match self.strides {
            GivenStrides::Contiguous(..) => None,
            GivenStrides::Explicit(strides, _) => {
                Some(used(strides, self.claims.rank).map_err(Error::of_strides)?)
            }
        };
        let ndim = shape.len().saturating_add(memory.axes.len());
        let mut lists = SlotLists::copied(slot.room(ndim)?, shape, strides, memory.axes)?;
        let offset = self.claims.offset_of_any_unit()?;
        if let GivenStrides::Contiguous(_, Some(Distance { number, unit })) = self.strides {
            if number.is_none_or(|number| number < 0 && unit == Unit::Bytes) {
                return Err(Error::PitchOutOfRange);
            }
        }
        if matches!(self.claims.len, Some(Distance { number: None | Some(..0), .. })) {
            return Err(Error::SizeOverflow);
        }
        let dtype = self.claims.element_type(memory)?;
        let padded = self.claims.padded | memory.padded;
        let bits = stored_bits(dtype, padded);
        // Offsets, strides and lengths count elements of the storage, which may be arrays
        // of elements in the sense of DLPack.
        let parts = if memory.axes.is_empty() { 1 } else { strides::numel(memory.axes)? };
        let counted_bits = bits.saturating_mul(parts);
        let mut byte_offset = match self.claims.offset.unit {
            Unit::Bytes => offset.unsigned_abs(),
            Unit::Elements => whole_bytes(offset, counted_bits, dtype)?,
        };
        let part = match self.claims.len {
            Some(len) => Some(part(len, byte_offset, counted_bits, memory.window.byte_len)?),
            None => None,
        };

        let numel = lists.set_strides(self.strides, own, dtype, (parts, counted_bits))?;
        let SlotLists { shape, strides, .. } = lists;
        let has_elements = numel != 0;
        let own = own.filter(|_| has_elements);
        if let Some(own) = own {
            byte_offset = own.byte_offset as u64;
        }

        // The elements of a contiguous tensor have the bytes of the span.
        let is_compact = own.is_none() && matches!(self.strides, GivenStrides::Contiguous(_, None));
        let extent = match (has_elements, is_compact) {
            (false, _) => None,
            (true, true) => Some(Extent { low: 0, high: numel.saturating_sub(1) }),
            (true, false) => Some(strides::extent_of_some(shape, strides)?),
        };
        let Window { data, in_object, byte_len } = memory.window;
        let window = in_object.map_or(0, InObject::bytes);
        if let Some(part) = part {
            check_part(part, byte_len, byte_offset, bits, extent)?;
        }
        let span = Span::new(byte_len, (0, byte_len as u64), byte_offset, bits, extent)?;
        if span.end != byte_len as u64 && own.is_none() && self.fills_storage() {
            return Err(spare_capacity(numel, span, byte_len));
        }
        let span = span.after(window as u64);
        if has_elements {
            if !is_compact {
                all_fit(numel, bits)?;
            }
            check_alignment(memory, byte_offset, dtype)?;
        }
        let read_only = self.claims.read_only
            || memory.access.is_read_only()
            || (!is_compact && strides::may_overlap(shape, strides));
        let mut flags = if padded { Flags::IS_SUBBYTE_TYPE_PADDED } else { Flags::NONE };
        if read_only {
            flags = flags | Flags::READ_ONLY;
        }
        let (data, byte_offset) = if !has_elements {
            (core::ptr::null_mut(), 0)
        } else if in_object.is_some() {
            (data, byte_offset.checked_add(window as u64).ok_or(Error::SizeOverflow)?)
        } else {
            // The first element is inside of the memory, so its offset fits.
            (data.wrapping_add(usize::try_from(byte_offset).unwrap_or(0)), 0)
        };
        slot.write(ndim, memory, dtype, (data, byte_offset));
        Ok(Placement { ndim, data, span, flags })
    }
}

impl Claims {
    /// The offset, in its unit.
    fn offset_of_any_unit(&self) -> Result<i64, Error> {
        match self.offset.number {
            None => Err(Error::SizeOverflow),
            Some(..0) => Err(Error::NegativeOffset),
            Some(offset) => Ok(offset),
        }
    }

    /// The type of the elements, if there is memory and it can have elements of this type.
    fn element_type(&self, memory: &Memory) -> Result<DataType, Error> {
        memory.check()?;
        if !memory.device.is_well_formed() {
            return Err(Error::NoSuchDevice { device: memory.device });
        }
        if let Some(device) = self.device.filter(|&device| device != memory.device) {
            return Err(Error::DeviceMismatch { device, storage: memory.device });
        }
        element_type(self.dtype.unwrap_or(memory.dtype), memory)
    }
}

/// The entries of a list that are in use.
fn used(list: Numbers<'_>, rank: Option<i64>) -> Result<Ints<'_>, Error> {
    let capacity = list.list.len();
    list.used(rank).ok_or(match rank {
        Some(ndim) if list.is_whole || ndim < 0 => Error::RankBeyondCapacity { ndim, capacity },
        _ => Error::DimTooLarge { axis: capacity },
    })
}

/// The lists in the slot: the dimensions of the tensor, then those of each element.
struct SlotLists<'s> {
    shape: &'s mut [i64],
    strides: &'s mut [i64],
    /// The number of dimensions before those of the elements.
    outer: usize,
}

impl<'s> SlotLists<'s> {
    /// Copies a shape, strides as they were given, or 0, and the axes of the elements.
    fn copied(
        room: Room<'s>,
        dims: Ints<'_>,
        steps: Option<Ints<'_>>,
        axes: &[i64],
    ) -> Result<Self, Error> {
        let outer = dims.len();
        let (to_shape, to_axes) = room.shape.split_at_mut(outer);
        dims.write_to(to_shape).map_err(|axis| Error::DimTooLarge { axis })?;
        Ints::i64(axes).write_to(to_axes).map_err(|axis| Error::DimTooLarge { axis })?;
        let copied = match steps {
            None => 0,
            Some(steps) if steps.len() == outer => {
                let written = steps.write_to(room.strides);
                written.map_err(|axis| Error::StrideTooLarge { axis })?;
                outer
            }
            Some(steps) => return Err(Error::RankMismatch { shape: outer, strides: steps.len() }),
        };
        for to in room.strides.iter_mut().skip(copied) {
            to.write(0);
        }
        // SAFETY: 1. Just written: `room` is for as many dimensions and axes.
        let (shape, strides) = unsafe { room.written() };
        Ok(Self { shape, strides, outer })
    }

    /// The dimensions of the tensor, and their strides.
    fn outer(&mut self) -> (&[i64], &mut [i64]) {
        let shape = self.shape.get(..self.outer).unwrap_or_default();
        (shape, self.strides.get_mut(..self.outer).unwrap_or_default())
    }

    /// Sets the strides that were given, or those of the memory, in parts of elements. Returns the
    /// number of parts. An element of the storage has `parts` parts and `counted_bits` bits.
    fn set_strides(
        &mut self,
        given: GivenStrides<'_>,
        own: Option<Strided<'_>>,
        dtype: DataType,
        (parts, counted_bits): (i64, i64),
    ) -> Result<i64, Error> {
        let has_axes = self.outer != self.shape.len();
        if let (GivenStrides::Contiguous(order, None), None, false) = (given, own, has_axes) {
            if let Some(numel) = self.write_compact(order) {
                return Ok(numel);
            }
        }
        let numel = strides::numel(self.shape)?;
        match own {
            Some(own) if numel != 0 => self.take(own, dtype, parts)?,
            // An empty tensor has no elements that could be confused.
            _ => self.convert(given, counted_bits, numel != 0)?,
        }
        if has_axes {
            self.append_axes(parts)?;
        }
        Ok(numel)
    }

    /// Writes the strides of contiguous elements, and returns their number. `None` if there are none,
    /// or too many.
    fn write_compact(&mut self, order: Order) -> Option<i64> {
        let axes = self.shape.iter().map(|&dim| Some(dim)).zip(self.strides.iter_mut());
        match order {
            Order::RowMajor => contiguous(1, axes.rev(), |to, _, stride| *to = stride),
            Order::ColumnMajor => contiguous(1, axes, |to, _, stride| *to = stride),
        }
    }

    /// Sets the strides of the memory, in elements of the storage, of `parts` parts each.
    ///
    /// # Errors
    ///
    /// [`Error::StridesMissing`] for another shape or another type of elements, because the strides
    /// have no meaning there.
    fn take(&mut self, own: Strided<'_>, dtype: DataType, parts: i64) -> Result<(), Error> {
        let (shape, to) = self.outer();
        if shape != own.shape || dtype != own.dtype {
            return Err(Error::StridesMissing);
        }
        for ((to, &stride), &dim) in to.iter_mut().zip(own.strides).zip(shape) {
            *to = match stride.checked_rem(parts) {
                Some(0) => stride.checked_div(parts).unwrap_or(0),
                // The stride of one element is not used.
                _ if dim == 1 => 0,
                _ => return Err(Error::StridesMissing),
            };
        }
        Ok(())
    }

    /// Converts the strides to elements of the storage, of `counted_bits` each.
    fn convert(
        &mut self,
        given: GivenStrides<'_>,
        counted_bits: i64,
        has_elements: bool,
    ) -> Result<(), Error> {
        let (shape, strides) = self.outer();
        match given {
            GivenStrides::Explicit(_, Unit::Elements) => Ok(()),
            GivenStrides::Explicit(_, Unit::Bytes) => {
                for (axis, stride) in strides.iter_mut().enumerate() {
                    let bytes = *stride;
                    *stride = whole_elements(bytes, counted_bits)
                        .ok_or(Error::StrideNotWhole { axis, bytes })?;
                }
                Ok(())
            }
            GivenStrides::Contiguous(order, pitch) => {
                order.write_strides(shape, strides);
                let slowest = match order {
                    Order::RowMajor => strides.first_mut(),
                    Order::ColumnMajor => strides.last_mut(),
                };
                let (Some(stride), Some(pitch)) = (slowest, pitch) else { return Ok(()) };
                match widen(stride, pitch, counted_bits) {
                    // A tensor without elements has no row that is longer than the pitch.
                    Err(Error::PitchTooSmall { .. } | Error::BytePitchTooSmall { .. })
                        if !has_elements =>
                    {
                        Ok(())
                    }
                    widened => widened,
                }
            }
        }
    }

    /// Converts the strides to parts of elements, and writes those of the axes of the elements.
    fn append_axes(&mut self, parts: i64) -> Result<(), Error> {
        for stride in self.outer().1 {
            *stride = stride.checked_mul(parts).ok_or(Error::SizeOverflow)?;
        }
        let axes = self.shape.get(self.outer..).unwrap_or_default();
        strides::row_major_strides(axes, self.strides.get_mut(self.outer..).unwrap_or_default());
        Ok(())
    }
}

/// The range of bytes of a storage of `byte_len` bytes that belongs to the tensor; `len` is not
/// negative.
fn part(
    len: Distance,
    byte_offset: u64,
    counted_bits: i64,
    byte_len: usize,
) -> Result<(u64, u64), Error> {
    let number = len.number.unwrap_or(0);
    let len = match len.unit {
        Unit::Bytes => number.unsigned_abs(),
        Unit::Elements => bytes_of(number, counted_bits)?,
    };
    let end = byte_offset.checked_add(len).ok_or(Error::SizeOverflow)?;
    if end > byte_len as u64 {
        return Err(out_of_bounds(byte_offset.into(), end.into(), byte_len));
    }
    Ok((byte_offset, end))
}

/// Checks that the elements are inside of a part of a storage of `byte_len` bytes.
fn check_part(
    part: (u64, u64),
    byte_len: usize,
    byte_offset: u64,
    bits: i64,
    extent: Option<Extent>,
) -> Result<(), Error> {
    if part == (0, byte_len as u64) {
        // The bounds of the whole storage are checked for every tensor.
        return Ok(());
    }
    match Span::new(byte_len, part, byte_offset, bits, extent) {
        Err(Error::OutOfBounds { start, end, .. }) => {
            let place = |byte| usize::try_from(byte).unwrap_or(byte_len);
            Err(Error::OutsideWindow { start, end, from: place(part.0), to: place(part.1) })
        }
        checked => checked.map(|_| ()),
    }
}

/// The error for a tensor that must use all `len` bytes of its storage, and uses fewer.
fn spare_capacity(elements: i64, used: Span, len: usize) -> Error {
    // The bytes are inside of the storage, so the number fits.
    let bytes = usize::try_from(used.end).unwrap_or(len);
    Error::SpareCapacity { elements, bytes, len }
}
