//! Descriptions without strides, of memory whose elements are not contiguous: they get its
//! strides.

use super::amount::Amount;
use super::order::Order;
use super::shaped::{Shaped, Strides};
use crate::error::Error;
use crate::storage::{Memory, Strided};
use crate::strides;

impl Shaped<'_> {
    /// Whether nothing but the shape states where the elements are.
    #[inline(always)]
    pub(super) fn has_only_a_shape(&self) -> bool {
        matches!(self.strides, Strides::Contiguous(Order::RowMajor))
            && matches!(self.offset, Amount::Bytes(0) | Amount::Elements(0))
            && self.pitch.is_none()
            && self.len.is_none()
    }

    /// Sets the strides and the offset of the memory.
    ///
    /// # Errors
    ///
    /// [`Error::StridesMissing`] for another shape or another type of elements, because the
    /// strides have no meaning there.
    pub(super) fn take_layout(
        &mut self,
        memory: &Memory,
        strided: &Strided<'_>,
    ) -> Result<(), Error> {
        let dtype = self.element_type(memory)?;
        let (shape, to) = self.lists.split_mut();
        if shape != strided.shape || dtype != strided.dtype {
            return Err(Error::StridesMissing);
        }
        // Strides of a description count elements of the storage, which may be arrays.
        let parts = strides::numel(memory.axes)?;
        for ((to, &stride), &dim) in to.iter_mut().zip(strided.strides).zip(shape) {
            *to = match stride.checked_rem(parts) {
                Some(0) => stride.checked_div(parts).unwrap_or(0),
                // The stride of one element is not used.
                _ if dim == 1 => 0,
                _ => return Err(Error::StridesMissing),
            };
        }
        self.strides = Strides::Elements;
        self.offset = Amount::Bytes(strided.byte_offset as u64);
        Ok(())
    }
}
