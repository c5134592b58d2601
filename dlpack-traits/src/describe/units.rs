//! Conversion of layouts to the units of the standard: strides in bytes, pitches, orders,
//! parts of a storage, and elements that are arrays.
//!
//! An offset is a whole number of elements of the storage: one that splits an element of a
//! `Vec<f64>` is rejected even if the resulting address is aligned.

use super::amount::Amount;
use super::bytes::{
    Span, bytes_of, out_of_bounds, stored_bits, whole_bytes, whole_elements, widen,
};
use super::order::Order;
use super::shaped::{Shaped, Strides};
use super::walk::ElementRange;
use crate::error::Error;
use crate::storage::Memory;
use crate::strides;

impl Shaped<'_> {
    /// The stride of the slowest axis of a contiguous layout with a pitch, and the
    /// resulting reach, in elements of `size` bytes; `Some(None)` for a layout without a
    /// pitch. `None` leaves the layout to [`in_elements`](Self::in_elements).
    #[inline(always)]
    #[expect(clippy::option_option, reason = "`None` is the `?` of the only caller")]
    pub(super) fn widened(&self, size: u64) -> Option<Option<(i64, ElementRange)>> {
        let (Some(pitch), Strides::Contiguous(order)) = (self.pitch, self.strides) else {
            return Some(None);
        };
        let (shape, strides) = self.lists.split();
        let (dim, stride) = match order {
            Order::RowMajor => (shape.first()?, strides.first()?),
            Order::ColumnMajor => (shape.last()?, strides.last()?),
        };
        let pitch = match pitch {
            Amount::Elements(elements) => elements,
            Amount::Bytes(bytes) if bytes.checked_rem(size) == Some(0) => {
                i64::try_from(bytes.checked_div(size)?).ok()?
            }
            Amount::Bytes(_) => return None,
        };
        if pitch < *stride {
            return None;
        }
        let steps = dim.wrapping_sub(1);
        let more = steps.checked_mul(pitch.wrapping_sub(*stride))?;
        Some(Some((pitch, self.reach.higher(more)?)))
    }

    /// Sets the stride of the slowest axis of a contiguous layout.
    #[inline(always)]
    pub(super) fn set_pitch(&mut self, pitch: i64) {
        let (_, strides) = self.lists.split_mut();
        let slowest = match self.strides {
            Strides::Contiguous(Order::ColumnMajor) => strides.last_mut(),
            _ => strides.first_mut(),
        };
        if let Some(stride) = slowest {
            *stride = pitch;
        }
    }

    /// `None` unless all strides, which count bytes, are multiples of `size`.
    #[inline(always)]
    pub(super) fn whole_strides(&self, size: u64) -> Option<()> {
        let (_, strides) = self.lists.split();
        let whole = |stride: &i64| stride.unsigned_abs().checked_rem(size) == Some(0);
        strides.iter().all(whole).then_some(())
    }

    /// Converts strides from bytes to elements of `size` bytes.
    #[inline(always)]
    pub(super) fn divide_strides(&mut self, size: u64) {
        let size = i64::try_from(size).unwrap_or(1);
        for stride in self.lists.split_mut().1 {
            *stride = stride.checked_div(size).unwrap_or(0);
        }
        self.strides = Strides::Elements;
    }

    /// Whether [`in_elements`](Self::in_elements) has anything to convert.
    #[inline(always)]
    pub(super) fn has_units(&self, memory: &Memory) -> bool {
        let bytes = matches!(self.strides, Strides::Bytes);
        bytes || self.pitch.is_some() || self.len.is_some() || !memory.axes.is_empty()
    }

    /// Converts strides to elements and the offset to bytes, and appends the axes of the
    /// elements to those of the tensor.
    pub(super) fn in_elements(&mut self, memory: &Memory) -> Result<(), Error> {
        let dtype = self.element_type(memory)?;
        let padded = self.padded | memory.padded;
        let element_bits = stored_bits(dtype, padded);
        // Offsets, strides and lengths count elements of the storage, which may be arrays
        // of elements in the sense of DLPack.
        let inner = strides::numel(memory.axes)?;
        let counted_bits = element_bits.saturating_mul(inner);
        let byte_offset = match self.offset {
            Amount::Bytes(bytes) => bytes,
            Amount::Elements(elements) => whole_bytes(elements, counted_bits, dtype)?,
        };
        self.offset = Amount::Bytes(byte_offset);
        let window = self.window(memory, byte_offset, counted_bits)?;
        self.strides_in_elements(counted_bits)?;
        if !memory.axes.is_empty() {
            self.lists.append(memory.axes)?;
        }
        if let Some(window) = window {
            self.check_window(memory, window, byte_offset, element_bits)?;
        }
        Ok(())
    }

    /// The range of bytes of the storage that belongs to the tensor; `None` if it is the
    /// whole storage.
    fn window(
        &mut self,
        memory: &Memory,
        byte_offset: u64,
        counted_bits: i64,
    ) -> Result<Option<(u64, u64)>, Error> {
        let len = match self.len.take() {
            None => return Ok(None),
            Some(Amount::Bytes(bytes)) => bytes,
            Some(Amount::Elements(elements)) => bytes_of(elements, counted_bits)?,
        };
        let whole = memory.window.byte_len as u64;
        let end = byte_offset.checked_add(len).ok_or(Error::SizeOverflow)?;
        if end > whole {
            return Err(out_of_bounds(byte_offset.into(), end.into(), memory.window.byte_len));
        }
        // The bounds of the whole storage are checked for every tensor.
        Ok(Some((byte_offset, end)).filter(|&window| window != (0, whole)))
    }

    fn strides_in_elements(&mut self, counted_bits: i64) -> Result<(), Error> {
        match self.strides {
            Strides::Elements => return Ok(()),
            Strides::Bytes => {
                let (_, strides) = self.lists.split_mut();
                for (axis, stride) in strides.iter_mut().enumerate() {
                    let bytes = *stride;
                    *stride = whole_elements(bytes, counted_bits)
                        .ok_or(Error::StrideNotWhole { axis, bytes })?;
                }
            }
            Strides::Contiguous(order) => {
                let Some(pitch) = self.pitch.take() else { return Ok(()) };
                let (_, strides) = self.lists.split_mut();
                let slowest = match order {
                    Order::RowMajor => strides.first_mut(),
                    Order::ColumnMajor => strides.last_mut(),
                };
                if let Some(stride) = slowest {
                    let widened = widen(stride, pitch, counted_bits);
                    // A tensor without elements has no row that is longer than the pitch.
                    let too_small = matches!(
                        widened,
                        Err(Error::PitchTooSmall { .. } | Error::BytePitchTooSmall { .. })
                    );
                    if !too_small || self.extent()?.is_some() {
                        widened?;
                    }
                }
            }
        }
        self.strides = Strides::Elements;
        self.stored[1] = core::ptr::null();
        Ok(())
    }

    /// Checks that the elements are inside of a part of the storage.
    fn check_window(
        &self,
        memory: &Memory,
        window: (u64, u64),
        byte_offset: u64,
        element_bits: i64,
    ) -> Result<(), Error> {
        let extent = self.extent()?;
        let len = memory.window.byte_len;
        match Span::new(len, window, byte_offset, element_bits, extent) {
            Ok(_) => Ok(()),
            Err(Error::OutOfBounds { start, end, .. }) => {
                let place = |byte| usize::try_from(byte).unwrap_or(len);
                Err(Error::OutsideWindow { start, end, from: place(window.0), to: place(window.1) })
            }
            Err(error) => Err(error),
        }
    }
}
