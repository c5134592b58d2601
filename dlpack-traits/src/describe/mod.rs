//! The description of a tensor by its type, and the validation of that description:
//! [`Describe`].
//!
//! A [`Layout`] records lists and numbers. When the memory is given, one pass reads the lists, writes
//! them as `i64`s into the [`Slot`] where the consumer reads them, and finds which elements they
//! reach; these are compared with the length of the memory, and the C struct is written (`fast`). If
//! anything is unusual, `exact` begins again in numbers that cannot overflow, and either succeeds or
//! returns the error.

mod as_layout;
mod bytes;
mod check;
mod description;
mod exact;
mod facts;
mod fast;
mod layout;
mod list;
mod slot;
#[cfg(test)]
mod tests;
mod walk;

pub use as_layout::AsLayout;
pub use description::{Description, DescriptionMut};
pub use layout::{Layout, Order};
pub(crate) use list::List;
pub use list::{IntoList, IntoStrides};
pub use slot::Slot;

pub(crate) use bytes::{all_fit, stored_bits};
pub(crate) use check::{Checked, described_elsewhere};
pub(crate) use facts::Facts;
pub(crate) use slot::SlotMut;
pub(crate) use walk::contiguous;

use crate::error::Error;

/// A builder that describes one tensor, in the [`Slot`] where its consumer reads it.
///
/// An implementation of [`DLPackExport`](crate::DLPackExport) receives one. It sets the
/// shape first, then the other attributes, and the memory last. The last call,
/// [`data`](Layout::data) or [`data_mut`](Layout::data_mut), validates everything, and is the only
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
///         out.shape([self.rows, self.columns]).pitch(self.pitch).data(self.numbers.data())
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

    /// Begins the description with the shape: the size of each dimension in elements, from the
    /// slowest axis to the fastest if the layout is row-major.
    ///
    /// A list that the tensor stores is a reference, `&self.shape`: a `DLTensor` that a consumer
    /// borrows may point to it. A computed one is an array or a `Vec`, `[self.rows, 3]`.
    #[inline(always)]
    pub fn shape(self, mut shape: impl IntoList<'a>) -> Layout<'a, Self> {
        Layout::begin(self, shape.take_list())
    }

    /// Begins the description with a [`Layout`].
    #[inline(always)]
    pub fn layout(self, layout: Layout<'a>) -> Layout<'a, Self> {
        layout.exchange(self).1
    }

    /// Ends the description with an error: the value in its current state is not a tensor.
    #[inline]
    pub fn refused(self, error: Error) -> Layout<'a, Self> {
        let nothing: [i64; 0] = [];
        self.shape(nothing).refused(error)
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
