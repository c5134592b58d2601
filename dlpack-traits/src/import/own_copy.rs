//! Copies of imported tensors in memory that this crate allocates:
//! [`ImportedTensor::to_own_copy`].

use super::ImportedTensor;

use super::imported_memory::{byte_offset_of, layout_of, memory_of};
use crate::copy::Copied;
use crate::describe::{Layout, Order};
use crate::error::Error;
use crate::export::copied_managed;
use crate::strides::{MAX_NDIM, turned};
use crate::view::TensorView;

impl ImportedTensor {
    /// Copies the tensor to host memory that this crate allocates. The copy has no other
    /// owner, so [`exclusive`](Self::exclusive) of the copy gives `&mut [T]` without
    /// `unsafe`.
    ///
    /// The copy is dense (without gaps) and aligned to 64 bytes. It is in column-major order if the
    /// strides of the tensor ascend, as those of a column-major array and of slices of one
    /// do, and otherwise in row-major order. It does not borrow this tensor.
    ///
    /// ```
    /// # use dlpack_traits::{DLPackExport, Describe, Description, Error, Storage};
    /// # use std::sync::Arc;
    /// # struct Samples(Arc<[f32]>);
    /// # impl DLPackExport for Samples {
    /// #     fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
    /// #         out.shape(&[2]).data(self.0.data())
    /// #     }
    /// # }
    /// let mut tensor = Samples(Arc::from([1.5, 2.5])).into_dlpack()?.import()?;
    /// assert!(tensor.exclusive().is_err());
    /// let mut copy = tensor.to_own_copy()?;
    /// copy.exclusive()?.as_mut_slice::<f32>()?[0] = 0.5;
    /// assert_eq!(copy.elements::<f32>()?.to_vec()?, [0.5, 2.5]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NotOnHost`], and [`Error::NoBackend`] for pinned memory that was exported for a
    /// stream; [`Error::UnsupportedDType`] for elements of a type that this
    /// version of DLPack does not define, and [`Error::PackedStrides`] for packed elements
    /// that share bytes and are not contiguous in that order; [`Error::OutOfMemory`].
    pub fn to_own_copy(&self) -> Result<Self, Error> {
        self.on_host()?;
        let copied = match memory_order(self.shape(), self.strides()) {
            Order::RowMajor => Copied::of(&TensorView::new(memory_of(self), layout_of(self))?)?,
            Order::ColumnMajor => {
                let (mut shape, mut strides) = ([0; MAX_NDIM], [0; MAX_NDIM]);
                let shape = turned(self.shape(), 0, &mut shape);
                let strides = turned(self.strides(), 0, &mut strides);
                let layout = Layout::new(shape).strides(strides).byte_offset(byte_offset_of(self));
                let view = TensorView::new(memory_of(self), layout)?;
                Copied::of(&view)?.into_transposed()?
            }
        };
        copied_managed(copied)?.import()
    }
}

/// The order of the axes in memory: column-major if the strides ascend, otherwise
/// row-major. Axes of size 1 and broadcast axes (stride 0) are ignored.
pub(super) fn memory_order(shape: &[i64], strides: &[i64]) -> Order {
    let steps = || {
        let steps = shape.iter().zip(strides).filter(|&(&dim, &stride)| dim > 1 && stride != 0);
        steps.map(|(_, stride)| stride.unsigned_abs())
    };
    let descends = steps().zip(steps().skip(1)).all(|(outer, inner)| outer >= inner);
    let ascends = steps().zip(steps().skip(1)).all(|(outer, inner)| outer <= inner);
    if ascends && !descends { Order::ColumnMajor } else { Order::RowMajor }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_that_say_nothing_are_skipped() {
        for (shape, strides, order) in [
            (&[][..], &[][..], Order::RowMajor),
            (&[4], &[-3], Order::RowMajor),
            (&[2, 3], &[3, 1], Order::RowMajor),
            (&[2, 3], &[1, 2], Order::ColumnMajor),
            (&[2, 3], &[1, 1], Order::RowMajor),
            (&[2, 3], &[2, -8], Order::ColumnMajor),
            (&[2, 3], &[0, 1], Order::RowMajor),
            (&[3, 2], &[1, 0], Order::RowMajor),
            (&[1, 3], &[1, 9], Order::RowMajor),
            (&[2, 1, 3], &[1, 99, 2], Order::ColumnMajor),
            (&[2, 3, 4], &[1, 8, 2], Order::RowMajor),
        ] {
            assert_eq!(memory_order(shape, strides), order, "{shape:?} {strides:?}");
        }
    }
}
