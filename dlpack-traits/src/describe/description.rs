//! A described and validated tensor: [`Description`], [`DescriptionMut`].

use super::Describe;
use super::check::Checked;
use super::layout::Layout;
use crate::device::Device;
use crate::dtype::DataType;
use crate::error::Error;
use crate::ffi::DLTensor;
use crate::storage::{DataMut, DataRef};

/// A described and validated tensor: the result of an implementation of
/// [`DLPackExport`](crate::DLPackExport).
///
/// It borrows the [`Slot`](crate::Slot) into which it was written, so it cannot outlive the slot,
/// and the slot cannot be moved while it exists; a [`TensorView`](crate::TensorView) stores its own
/// slot and costs more.
///
/// ```
/// use dlpack_traits::{DataRef, Slot};
///
/// let mut slot = Slot::new();
/// let matrix = slot.describe().shape([2, 3]).data(DataRef::from_slice(&[0.5_f32; 6]))?;
/// assert_eq!(matrix.strides(), [3, 1]);
/// let c_struct = matrix.dl_tensor();
/// assert_eq!(c_struct.ndim, 2);
/// # Ok::<(), dlpack_traits::Error>(())
/// ```
#[derive(Debug)]
pub struct Description<'a> {
    checked: Checked<'a>,
}

impl<'a> Description<'a> {
    #[inline(always)]
    pub(crate) fn new(checked: Checked<'a>) -> Self {
        Self { checked }
    }

    /// Marks the tensor READ_ONLY, even if the storage allows writing.
    #[inline]
    #[must_use]
    pub fn into_read_only(mut self) -> Self {
        self.checked.facts.set_read_only();
        self
    }

    /// Shape: the size of each dimension, in elements.
    #[inline]
    pub fn shape(&self) -> &[i64] {
        self.checked.described.shape()
    }

    /// Strides, in elements; they are always present.
    #[inline]
    pub fn strides(&self) -> &[i64] {
        self.checked.described.strides()
    }

    /// Type of the elements.
    #[inline]
    pub fn dtype(&self) -> DataType {
        self.dl_tensor().dtype.into()
    }

    /// Device of the memory.
    #[inline]
    pub fn device(&self) -> Device {
        self.dl_tensor().device.into()
    }

    /// Whether consumers must not write.
    #[inline]
    pub fn is_read_only(&self) -> bool {
        self.checked.facts.is_read_only()
    }

    /// Borrows the tensor as the C struct.
    #[inline]
    pub fn dl_tensor(&self) -> &DLTensor {
        self.checked.described.tensor()
    }

    #[inline(always)]
    pub(crate) fn into_checked(self) -> Checked<'a> {
        self.checked
    }

    #[inline(always)]
    pub(crate) fn checked(&self) -> &Checked<'a> {
        &self.checked
    }
}

/// A [`Description`] of memory that may be lent for writing.
#[derive(Debug)]
pub struct DescriptionMut<'a> {
    checked: Checked<'a>,
}

impl<'a> DescriptionMut<'a> {
    #[inline(always)]
    pub(crate) fn new(checked: Checked<'a>) -> Self {
        Self { checked }
    }

    #[inline(always)]
    pub(crate) fn into_checked(self) -> Checked<'a> {
        self.checked
    }
}

impl<'a> From<Description<'a>> for DescriptionMut<'a> {
    #[inline(always)]
    fn from(description: Description<'a>) -> Self {
        Self { checked: description.checked }
    }
}

impl<'a> Layout<'a, Describe<'a>> {
    /// Sets the memory, lent for reading or for sharing, and validates the layout.
    ///
    /// # Errors
    ///
    /// Those of [`TensorView::new`](crate::TensorView::new).
    #[inline(always)]
    pub fn data(self, data: DataRef<'a>) -> Result<Description<'a>, Error> {
        let (out, layout) = self.exchange(());
        out.check(layout, true, (data.memory_ref(), data.layout()), Description::new)
    }

    /// As [`data`](Self::data), for memory that is lent with the most access that the
    /// storage can grant.
    ///
    /// # Errors
    ///
    /// Those of [`data`](Self::data).
    #[inline(always)]
    #[expect(clippy::needless_pass_by_value, reason = "there is one loan of it at a time")]
    pub fn data_mut(self, data: DataMut<'a>) -> Result<DescriptionMut<'a>, Error> {
        let ((out, layout), data) = (self.exchange(()), data.as_ref());
        out.check(layout, true, (data.memory_ref(), data.layout()), DescriptionMut::new)
    }
}

impl<'a> Describe<'a> {
    /// As [`Layout::data`], for lists that need not outlive the call.
    #[inline(always)]
    pub(crate) fn copied(
        self,
        layout: Layout<'_>,
        data: DataRef<'a>,
    ) -> Result<Description<'a>, Error> {
        self.check(layout, false, (data.memory_ref(), data.layout()), Description::new)
    }
}
