//! Layouts in other units than the standard's are brought into those: bytes, pitches,
//! orders, parts of a storage, and elements that are arrays.

use super::layout::{Amount, Order};
use super::place::{
    Span, bytes_of, out_of_bounds, stored_bits, whole_bytes, whole_elements, widen,
};
use super::shaped::{Shaped, Strides};
use super::walk::Reach;
use crate::error::Error;
use crate::layout::{self, MAX_NDIM};
use crate::storage::Memory;

impl Shaped<'_> {
    /// Whether [`in_elements`](Self::in_elements) has anything to do. Inline, where what a
    /// type does not say is a constant.
    #[inline(always)]
    pub(super) fn has_units(&self, memory: &Memory) -> bool {
        let bytes = matches!(self.strides, Strides::Bytes);
        bytes || self.pitch.is_some() || self.len.is_some() || !memory.axes.is_empty()
    }

    /// The same layout with strides in elements, an offset in bytes, and the axes of the
    /// elements behind those of the tensor.
    #[inline(never)]
    pub(super) fn in_elements(mut self, memory: &Memory) -> Result<Self, Error> {
        self.fault()?;
        let dtype = self.element_type(memory)?;
        let padded = self.padded | memory.padded;
        let element_bits = stored_bits(dtype, padded);
        // What the caller counts are elements of the storage, which may be arrays of what
        // the standard counts.
        let inner = layout::numel(memory.axes)?;
        let counted_bits = element_bits.saturating_mul(inner);
        let byte_offset = match self.offset {
            Amount::Bytes(bytes) => bytes,
            Amount::Elements(elements) => whole_bytes(elements, counted_bits, dtype)?,
        };
        self.offset = Amount::Bytes(byte_offset);
        let window = self.window(memory, byte_offset, counted_bits)?;
        self.strides_in_elements(counted_bits)?;
        self.append_axes(memory.axes, inner)?;
        if let Some(window) = window {
            self.check_window(memory, window, byte_offset, element_bits)?;
        }
        let (shape, strides) = self.lists.split();
        self.reach = Reach::of(shape, strides);
        Ok(self)
    }

    /// The bytes of the storage that belong to the tensor, if they are not all.
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
        let whole = memory.byte_len as u64;
        let end = byte_offset.checked_add(len).ok_or(Error::SizeOverflow)?;
        if end > whole {
            return Err(out_of_bounds(byte_offset.into(), end.into(), memory.byte_len));
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
                    widen(stride, pitch, counted_bits)?;
                }
            }
        }
        self.strides = Strides::Elements;
        self.stored[1] = core::ptr::null();
        Ok(())
    }

    /// Adds the axes of each element, an array of `inner` numbers.
    fn append_axes(&mut self, axes: &[i64], inner: i64) -> Result<(), Error> {
        if axes.is_empty() {
            return Ok(());
        }
        self.stored = [core::ptr::null(); 2];
        let mut room = [0; MAX_NDIM];
        let strides = room.get_mut(..axes.len()).unwrap_or_default();
        layout::row_major_strides(axes, strides);
        let (_, outer) = self.lists.split_mut();
        for stride in outer {
            *stride = stride.checked_mul(inner).ok_or(Error::SizeOverflow)?;
        }
        self.lists.append(axes, strides)
    }

    /// Checks that the elements lie in a part of the storage.
    fn check_window(
        &self,
        memory: &Memory,
        window: (u64, u64),
        byte_offset: u64,
        element_bits: i64,
    ) -> Result<(), Error> {
        let extent = self.extent()?;
        match Span::new(memory.byte_len, window, byte_offset, element_bits, extent) {
            Ok(_) => Ok(()),
            Err(Error::OutOfBounds { start, end, .. }) => {
                let place = |byte| usize::try_from(byte).unwrap_or(memory.byte_len);
                Err(Error::OutsideWindow { start, end, from: place(window.0), to: place(window.1) })
            }
            Err(error) => Err(error),
        }
    }
}
