//! How a type says where the elements of its tensor lie, and the check of what it says:
//! [`Describe`].
//!
//! Shape and strides are written once, as `i64`s, into the [`Slot`] where the consumer
//! reads them. What else is said stays in registers until the memory is named; then all
//! of it is checked against the length of that memory, and the C struct is written.

mod as_layout;
mod check;
mod layout;
mod lists;
mod place;
mod shaped;
mod slot;
#[cfg(test)]
mod tests;
mod units;
mod walk;

pub use as_layout::AsLayout;
pub use layout::{Layout, Order};
pub use shaped::Shaped;
pub use slot::Slot;

pub(crate) use check::{Checked, Facts, described_elsewhere};
pub(crate) use place::{alignment, stored_bits};
pub(crate) use walk::Reach;

use core::marker::PhantomData;
use core::ptr::NonNull;

use crate::device::Device;
use crate::dims::{AsDims, Dim};
use crate::dtype::DataType;
use crate::error::Error;
use crate::ffi::DLTensor;

use lists::Lists;

/// The right to describe one tensor, in the [`Slot`] where its consumer reads it.
///
/// An implementation of [`DLPackExport`](crate::DLPackExport) is given one. It says what
/// the shape is, then whatever else there is to say, and at the end where the elements
/// are. All of it is checked there, so nothing before that returns a `Result`.
///
/// ```
/// use dlpack_traits::{Describe, Description, DLPackExport, Error, Storage};
///
/// /// A matrix whose rows may lie farther apart than they are long.
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
    /// 1. `slot` points to a slot that the result alone accesses for `'a`.
    /// 2. Its `spill` is initialised.
    #[inline(always)]
    pub(crate) unsafe fn at(slot: NonNull<Slot>) -> Self {
        Self { slot, life: PhantomData }
    }

    /// The shape: the extents in elements, from the slowest axis to the fastest if the
    /// layout is row-major.
    ///
    /// It is borrowed from the tensor, so that a borrowed `DLTensor` that outlives the
    /// call can point at it; a list that is computed goes through
    /// [`shape_from`](Self::shape_from).
    #[inline(always)]
    pub fn shape<D: AsDims + ?Sized>(self, shape: &'a D) -> Shaped<'a> {
        let shape = shape.as_dims();
        self.shape_from(shape).stored_shape(D::Dim::stored(shape))
    }

    /// [`shape`](Self::shape) from a list that need not outlive the call.
    #[inline(always)]
    pub fn shape_from<D: AsDims + ?Sized>(self, shape: &D) -> Shaped<'a> {
        // SAFETY: 1. Guaranteed by 1 and 2 of `at`.
        Shaped::new(unsafe { Lists::new(self.slot, shape.as_dims()) })
    }

    /// A [`Layout`] that was put together before.
    #[inline]
    pub fn layout(self, layout: Layout<'a>) -> Shaped<'a> {
        layout.describe(self)
    }

    /// A description that ends in this error: the value is not a tensor at present.
    #[inline]
    pub fn refused(self, error: Error) -> Shaped<'a> {
        let nothing: [i64; 0] = [];
        self.shape_from(&nothing).refused(error)
    }
}

/// A tensor that was described and checked: what an implementation of
/// [`DLPackExport`](crate::DLPackExport) returns.
///
/// It is a view of the tensor too, in the slot where it was described, and costs less than
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

    /// The same tensor for readers only, whatever the storage allows.
    #[inline]
    #[must_use]
    pub fn into_read_only(mut self) -> Self {
        self.checked.facts.set_read_only();
        self
    }

    /// Extents, in elements.
    #[inline]
    pub fn shape(&self) -> &[i64] {
        self.checked.described.shape()
    }

    /// Strides, in elements; never absent.
    #[inline]
    pub fn strides(&self) -> &[i64] {
        self.checked.described.strides()
    }

    /// Type of the elements.
    #[inline]
    pub fn dtype(&self) -> DataType {
        self.dl_tensor().dtype.into()
    }

    /// Where the memory is.
    #[inline]
    pub fn device(&self) -> Device {
        self.dl_tensor().device.into()
    }

    /// Whether a consumer is told not to write.
    #[inline]
    pub fn is_read_only(&self) -> bool {
        self.checked.facts.is_read_only()
    }

    /// The same tensor as the C struct, for as long as this is borrowed.
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
