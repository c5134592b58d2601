//! The description of a tensor by its type, and the validation of that description:
//! [`Describe`].
//!
//! Shape and strides are written once, as `i64`s, into the [`Slot`] where the consumer
//! reads them. All other attributes stay in registers until the memory is given; then
//! everything is validated against the length of that memory, and the C struct is written.

mod amount;
mod as_layout;
mod bytes;
mod check;
mod layout;
mod lists;
mod order;
mod packed;
mod shaped;
mod slot;
#[cfg(test)]
mod tests;
mod units;
mod walk;

pub use as_layout::AsLayout;
pub use layout::Layout;
pub use order::Order;
pub use shaped::Shaped;
pub use slot::Slot;

pub(crate) use bytes::{alignment, stored_bits};
pub(crate) use check::{Checked, Facts, described_elsewhere};
pub(crate) use walk::Reach;

use core::marker::PhantomData;
use core::ptr::NonNull;

use crate::device::Device;
use crate::dims::{AsDims, Dim};
use crate::dtype::DataType;
use crate::error::Error;
use crate::ffi::DLTensor;

use lists::Lists;

/// A builder that describes one tensor, in the [`Slot`] where its consumer reads it.
///
/// An implementation of [`DLPackExport`](crate::DLPackExport) receives one. It sets the
/// shape first, then the other attributes, and the memory last. The memory method validates
/// everything, so only that method returns a `Result`.
///
/// ```
/// use dlpack_traits::{Describe, Description, DLPackExport, Error, Storage};
///
/// /// A matrix whose rows may be padded.
/// struct Matrix {
///     numbers: Vec<f32>,
///     rows: usize,
///     columns: usize,
///     pitch: usize,
/// }
///
/// impl DLPackExport for Matrix {
///     fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
///         out.shape_from(&[self.rows, self.columns]).pitch(self.pitch).data(self.numbers.data())
///     }
/// }
///
/// let matrix = Matrix { numbers: vec![0.0; 8], rows: 2, columns: 3, pitch: 4 };
/// assert_eq!(matrix.tensor()?.strides(), [4, 1]);
/// # Ok::<(), Error>(())
/// ```
#[must_use = "a tensor is described by naming its data"]
#[derive(Debug)]
pub struct Describe<'a> {
    slot: NonNull<Slot>,
    life: PhantomData<&'a mut Slot>,
}

impl<'a> Describe<'a> {
    /// # Safety
    ///
    /// 1. `slot` points to a slot that only the result accesses for `'a`.
    /// 2. Its `spill` is initialised.
    #[inline(always)]
    pub(crate) unsafe fn at(slot: NonNull<Slot>) -> Self {
        Self { slot, life: PhantomData }
    }

    /// Sets the shape: the size of each dimension in elements, from the slowest axis to the
    /// fastest if the layout is row-major.
    ///
    /// It is borrowed from the tensor, so that a borrowed `DLTensor` that outlives the call
    /// can point to it; use [`shape_from`](Self::shape_from) for a list that is computed.
    #[inline(always)]
    pub fn shape<D: AsDims + ?Sized>(self, shape: &'a D) -> Shaped<'a> {
        let shape = shape.as_dims();
        self.shape_from(shape).stored_shape(D::Dim::stored(shape))
    }

    /// As [`shape`](Self::shape), from a list that need not outlive the call.
    #[inline(always)]
    pub fn shape_from<D: AsDims + ?Sized>(self, shape: &D) -> Shaped<'a> {
        // SAFETY: 1. Guaranteed by 1 and 2 of `at`.
        Shaped::new(unsafe { Lists::new(self.slot, shape.as_dims()) })
    }

    /// Sets all attributes from a [`Layout`].
    #[inline]
    pub fn layout(self, layout: Layout<'a>) -> Shaped<'a> {
        layout.describe(self)
    }

    /// Ends the description with an error: the value in its current state is not a tensor.
    #[inline]
    pub fn refused(self, error: Error) -> Shaped<'a> {
        let nothing: [i64; 0] = [];
        self.shape_from(&nothing).refused(error)
    }
}

/// A described and validated tensor: the result of an implementation of
/// [`DLPackExport`](crate::DLPackExport).
///
/// It is also a view of the tensor in the slot where it was described, and costs less than
/// a [`TensorView`](crate::TensorView), which can be moved.
///
/// ```
/// use dlpack_traits::{DataRef, Slot};
///
/// let mut slot = Slot::new();
/// let matrix = slot.describe().shape(&[2, 3]).data(DataRef::from_slice(&[0.5_f32; 6]))?;
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
