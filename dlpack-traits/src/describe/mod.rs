//! The description of a tensor by its type, and the validation of that description:
//! [`Describe`].
//!
//! Shape and strides are written once, as `i64`s, into the [`Slot`] where the consumer
//! reads them. All other attributes stay in registers until the memory is given; then
//! everything is validated against the length of that memory, and the C struct is written.

mod alignment;
mod amount;
mod as_layout;
mod bytes;
mod check;
mod description;
mod facts;
mod layout;
mod lists;
mod order;
mod packed;
mod shaped;
mod slot;
mod strided;
#[cfg(test)]
mod tests;
mod units;
mod walk;

pub use as_layout::AsLayout;
pub use description::{Description, DescriptionMut};
pub use layout::Layout;
pub use order::Order;
pub use shaped::Shaped;
pub use slot::Slot;

#[cfg(feature = "cudarc")]
pub(crate) use alignment::alignment;
pub(crate) use alignment::check_imported;
pub(crate) use bytes::{all_fit, stored_bits};
pub(crate) use check::{Checked, described_elsewhere};
pub(crate) use facts::Facts;
pub(crate) use slot::SlotMut;
pub(crate) use walk::{ElementRange, contiguous};

use crate::dims::{AsDims, Dim};
use crate::error::Error;

use lists::Lists;

/// A builder that describes one tensor, in the [`Slot`] where its consumer reads it.
///
/// An implementation of [`DLPackExport`](crate::DLPackExport) receives one. It sets the
/// shape first, then the other attributes, and the memory last. The last call,
/// [`data`](Shaped::data) or [`data_mut`](Shaped::data_mut), validates everything, and is the only
/// one that returns a `Result`.
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
    slot: SlotMut<'a>,
}

impl<'a> Describe<'a> {
    #[inline(always)]
    pub(crate) fn new(slot: SlotMut<'a>) -> Self {
        Self { slot }
    }

    /// Sets the shape: the size of each dimension in elements, from the slowest axis to the
    /// fastest if the layout is row-major.
    ///
    /// The list must live as long as the value, because a `DLTensor` that a consumer borrows may
    /// point to it. Use [`shape_from`](Self::shape_from) for a list that is computed.
    #[inline(always)]
    pub fn shape<D: AsDims + ?Sized>(self, shape: &'a D) -> Shaped<'a> {
        let shape = shape.as_dims();
        self.shape_from(shape).stored_shape(D::Dim::stored(shape))
    }

    /// As [`shape`](Self::shape), from the first `ndim` entries of `shape`, a list of a fixed
    /// capacity; of strides that are set later, also only the first `ndim` are read.
    ///
    /// If `ndim` is negative or larger than the list, the last call returns
    /// [`RankBeyondCapacity`](Error::RankBeyondCapacity).
    ///
    /// ```
    /// use dlpack_traits::{DLPackExport, Describe, Description, Error, Storage};
    ///
    /// struct Tensor {
    ///     data: Vec<f32>,
    ///     shape: [usize; 6],
    ///     ndim: u8,
    /// }
    ///
    /// impl DLPackExport for Tensor {
    ///     fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
    ///         out.shape_of_rank(&self.shape, self.ndim).data(self.data.data())
    ///     }
    /// }
    ///
    /// let tensor = Tensor { data: vec![0.0; 6], shape: [2, 3, 0, 0, 0, 0], ndim: 2 };
    /// assert_eq!(tensor.tensor()?.shape(), [2, 3]);
    /// # Ok::<(), Error>(())
    /// ```
    #[inline(always)]
    pub fn shape_of_rank<D: AsDims + ?Sized, I: Dim>(self, shape: &'a D, ndim: I) -> Shaped<'a> {
        let all = shape.as_dims();
        let used = ndim.to_i64().and_then(|ndim| all.get(..usize::try_from(ndim).ok()?));
        match used {
            Some(used) => Shaped { ranked: true, ..self.shape(used) },
            None => self.shape(all).rank(ndim),
        }
    }

    /// As [`shape`](Self::shape), from a list that need not outlive the call.
    #[inline(always)]
    pub fn shape_from<D: AsDims + ?Sized>(self, shape: &D) -> Shaped<'a> {
        Shaped::new(Lists::new(self.slot, shape.as_dims()))
    }

    /// Sets the shape, and the strides in **elements**, in one pass over both: the same as
    /// [`shape`](Self::shape) and [`Shaped::strides`], and faster.
    ///
    /// ```
    /// use dlpack_traits::{DLPackExport, Describe, Description, Error, Storage};
    ///
    /// struct View {
    ///     data: Vec<f32>,
    ///     shape: Vec<usize>,
    ///     strides: Vec<isize>,
    /// }
    ///
    /// impl DLPackExport for View {
    ///     fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
    ///         out.shape_and_strides(&self.shape, &self.strides).data(self.data.data())
    ///     }
    /// }
    ///
    /// let columns = View { data: vec![0.0; 6], shape: vec![3, 2], strides: vec![1, 3] };
    /// assert_eq!(columns.tensor()?.strides(), [1, 3]);
    /// # Ok::<(), Error>(())
    /// ```
    #[inline(always)]
    pub fn shape_and_strides<D, S>(self, shape: &'a D, strides: &'a S) -> Shaped<'a>
    where
        D: AsDims + ?Sized,
        S: AsDims + ?Sized,
    {
        let (dims, steps) = (shape.as_dims(), strides.as_dims());
        let lists = Lists::strided(self.slot, dims, steps);
        Shaped::strided(lists, [D::Dim::stored(dims), S::Dim::stored(steps)])
    }

    /// Sets all attributes from a [`Layout`].
    #[inline]
    pub fn layout(self, layout: Layout<'a>) -> Shaped<'a> {
        let Layout { shape, strides, offset, len, dtype, device, padded, partial } = layout;
        if let layout::Strides::Elements(strides) = &strides {
            if let (Some(shape), Some(strides)) = (shape.as_borrowed(), strides.as_borrowed()) {
                let shaped = self.shape_and_strides(shape, strides);
                return Shaped { offset, len, dtype, device, padded, partial, ..shaped };
            }
        }
        let shaped = match shape.as_borrowed() {
            Some(shape) => self.shape(shape),
            None => self.shape_from(&shape),
        };
        let shaped = match strides {
            layout::Strides::Compact { order, pitch } => Shaped { pitch, ..shaped.order(order) },
            layout::Strides::Elements(strides) => match strides.as_borrowed() {
                Some(strides) => shaped.strides(strides),
                None => shaped.strides_from(&strides),
            },
            layout::Strides::Bytes(strides) => shaped.byte_strides(&strides),
        };
        Shaped { offset, len, dtype, device, padded, partial, ..shaped }
    }

    /// Ends the description with an error: the value in its current state is not a tensor.
    #[inline]
    pub fn refused(self, error: Error) -> Shaped<'a> {
        let nothing: [i64; 0] = [];
        self.shape_from(&nothing).refused(error)
    }
}

impl Slot {
    /// Starts the description of a tensor in this slot. It replaces an earlier one.
    #[inline(always)]
    pub fn describe(&mut self) -> Describe<'_> {
        let mut slot = SlotMut::of(self);
        slot.clear();
        Describe::new(slot)
    }
}
