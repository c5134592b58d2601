//! Copies of imported tensors: their elements in a given order ([`ElementCopy`]), and tensors in
//! memory that this crate allocates ([`ImportedTensor::to_own_copy`]).

use alloc::vec::Vec;
use core::mem::MaybeUninit;
use core::ops::Range;
use core::slice;

use super::Elements;
use super::ImportedTensor;
use super::elements::block;
use super::elements::typed::Typed;
use super::imported_memory::{byte_offset_of, layout_of, memory_of};
use crate::copy::{Axes, Copied, Pieces, Source};
use crate::describe::{Layout, Order, stored_bits};
use crate::dtype::DataType;
use crate::element::{AnyBits, BitsAreValid, Readable};
use crate::error::Error;
use crate::export::copied_managed;
use crate::flags::Flags;
use crate::storage::try_vec;
use crate::strides::{MAX_NDIM, turned};
use crate::view::TensorView;

/// All elements of a tensor, to be copied, contiguously in an order.
///
/// Elements of type `u8` are the bytes of elements of any type; those of any other type must be of
/// the type of the tensor's.
#[derive(Debug)]
pub struct ElementCopy<'a, T> {
    tensor: &'a ImportedTensor,
    order: Order,
    layout: CopyLayout<'a>,
    /// Elements that can be read in this order as they are.
    elements: Option<Elements<'a, T>>,
}

impl<'a, T: Readable> ElementCopy<'a, T> {
    /// The elements of a tensor, in the given order.
    ///
    /// # Errors
    ///
    /// [`Error::NotOnHost`]; [`Error::ElementMismatch`] and [`Error::AxesMismatch`] if the tensor
    /// has other elements; [`Error::PackedStrides`] for elements that share bytes and are not
    /// contiguous in that order.
    pub(crate) fn new(tensor: &'a ImportedTensor, order: Order) -> Result<Self, Error> {
        let (asked, found) = (T::DTYPE, tensor.dtype());
        let as_bytes = asked == DataType::U8 && asked != found && T::AXES.is_empty();
        // The axes of each element are the last ones, so after the copy they are contiguous,
        // whatever their strides were.
        let as_arrays = asked == found && !T::AXES.is_empty() && tensor.shape().ends_with(T::AXES);
        if as_bytes || as_arrays {
            let layout = CopyLayout::of_bytes(tensor, order, T::AXES)?;
            return Ok(Self { tensor, order, layout, elements: None });
        }
        let elements = tensor.elements::<T>()?;
        let Typed { shape, strides, step, len, .. } = *elements.typed();
        let (size, step) = (size_of::<T>(), step.unsigned_abs());
        let layout =
            CopyLayout { lists: CopiedAxes::Of(shape, strides), inner: 0, step, size, len };
        let is_in_order = order == Order::RowMajor || shape.len() < 2;
        Ok(Self { tensor, order, layout, elements: is_in_order.then_some(elements) })
    }

    /// Number of elements.
    pub(super) fn len(&self) -> usize {
        self.byte_len().checked_div(size_of::<T>()).unwrap_or(0)
    }

    /// Number of bytes of the copy.
    pub(super) fn byte_len(&self) -> usize {
        // All elements together have at most `isize::MAX` bytes.
        self.layout.len.saturating_mul(self.layout.size)
    }

    /// Copies the elements to a vector.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`], [`Error::InvalidBits`].
    pub(super) fn to_vec(&self) -> Result<Vec<T>, Error> {
        if let Some(elements) = &self.elements {
            return elements.to_vec();
        }
        let len = self.len();
        let mut copy = try_vec::<T>(len)?;
        let room = copy.spare_capacity_mut().get_mut(..len).unwrap_or_default();
        let written = self.write(room)?;
        // SAFETY: the capacity is at least `written`, and that many elements were written.
        unsafe { copy.set_len(written) };
        Ok(copy)
    }

    /// Copies the elements to memory with room for as many. Returns the number of elements that were
    /// written from its start on, all of them valid values.
    ///
    /// # Errors
    ///
    /// [`Error::LenMismatch`], [`Error::InvalidBits`].
    pub(super) fn write(&self, to: &mut [MaybeUninit<T>]) -> Result<usize, Error> {
        let (needed, found) = (self.len(), to.len());
        if needed != found {
            return Err(Error::LenMismatch { needed, found });
        }
        if let Some(elements) = &self.elements {
            return elements.write_fresh(to);
        }
        if to.is_empty() {
            return Ok(0);
        }
        let CopyLayout { step, size, .. } = self.layout;
        let axes = self
            .layout
            .in_order(self.order, |(shape, strides)| Axes::new(shape, strides, step, size));
        let mut whole = Pieces::new(axes, 0, size, usize::MAX);
        let whole = whole.take().ok_or(Error::SizeOverflow)?;
        Ok(block::read(whole, &self.tensor.source(), to)?.len())
    }

    /// Copies the bytes of the elements. `to` has exactly as many.
    pub(super) fn write_bytes(&self, to: &mut [u8])
    where
        T: AnyBits,
    {
        let () = BitsAreValid::<T>::OK;
        let CopyLayout { step, size, .. } = self.layout;
        self.layout.in_order(self.order, |lists| {
            self.tensor.source().copy(lists, step, size, to);
        });
    }
}

impl ImportedTensor {
    /// The memory of the elements of a tensor of the host.
    #[inline]
    pub(super) fn source(&self) -> Source<'_> {
        let Range { start, end } = self.byte_range();
        // SAFETY: 1. By 4 of `from_raw` these bytes are initialized, and alive as long as the
        // handle, which is borrowed. This crate lent them with this access, or 5 of `from_raw`
        // guarantees the same.
        unsafe { Source::new(self.data_ptr().cast_mut(), start, end, self.access()) }
    }
}

/// The layout of the elements of a tensor, for a copy: of elements of its type, of a Rust type
/// that they can be read as, or of bytes.
#[derive(Debug)]
struct CopyLayout<'a> {
    lists: CopiedAxes<'a>,
    /// The number of last dimensions that stay the fastest, in row-major order.
    inner: usize,
    /// Bytes per unit of stride.
    step: usize,
    /// Bytes per element.
    size: usize,
    /// Number of elements.
    len: usize,
}

#[derive(Debug)]
enum CopiedAxes<'a> {
    /// Shape and strides.
    Of(&'a [i64], &'a [i64]),
    /// One run of bytes.
    Run(i64),
}

impl<'a> CopyLayout<'a> {
    /// The layout of the bytes of elements of any type, as elements with those axes.
    ///
    /// # Errors
    ///
    /// [`Error::NotOnHost`], [`Error::PackedStrides`].
    fn of_bytes(tensor: &'a ImportedTensor, order: Order, axes: &[i64]) -> Result<Self, Error> {
        tensor.on_host()?;
        let padded = tensor.flags().contains(Flags::IS_SUBBYTE_TYPE_PADDED);
        let bits = stored_bits(tensor.dtype(), padded);
        if bits % 8 != 0 {
            let compact = match order {
                Order::RowMajor => tensor.is_row_major(),
                Order::ColumnMajor => tensor.is_column_major(),
            };
            if !compact {
                return Err(Error::PackedStrides { dtype: tensor.dtype() });
            }
            let end = tensor.byte_range().end;
            let (lists, len) = (CopiedAxes::Run(end as i64), end.unsigned_abs());
            return Ok(Self { lists, inner: 0, step: 1, size: 1, len });
        }
        let size = usize::try_from(bits >> 3).map_err(|_| Error::SizeOverflow)?;
        // All elements together have at most `isize::MAX` bytes.
        let len = usize::try_from(tensor.numel()).unwrap_or(0);
        let lists = CopiedAxes::Of(tensor.shape(), tensor.strides());
        Ok(Self { lists, inner: axes.len(), step: size, size, len })
    }

    /// Calls a function with shape and strides, in the given order.
    fn in_order<R>(&self, order: Order, f: impl FnOnce((&[i64], &[i64])) -> R) -> R {
        let (mut shape, mut strides) = ([0; MAX_NDIM], [0; MAX_NDIM]);
        f(match (&self.lists, order) {
            (CopiedAxes::Run(len), _) => (slice::from_ref(len), &[1][..]),
            (CopiedAxes::Of(shape, strides), Order::RowMajor) => (*shape, *strides),
            // The same elements with the outer axes reversed.
            (CopiedAxes::Of(of_shape, of_strides), Order::ColumnMajor) => (
                turned(of_shape, self.inner, &mut shape),
                turned(of_strides, self.inner, &mut strides),
            ),
        })
    }
}

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
            Order::RowMajor => return self.to_row_major_copy(),
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

    /// The same copy, in row-major order.
    pub(crate) fn to_row_major_copy(&self) -> Result<Self, Error> {
        self.on_host()?;
        copied_managed(Copied::of(&TensorView::new(memory_of(self), layout_of(self))?)?)?.import()
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
    use alloc::vec;

    use super::*;
    use crate::error::Error;
    use crate::export::DLPackExport;
    use crate::storage::Storage;
    use crate::{Complex, Describe, Description};

    /// Six numbers in two rows.
    struct Numbers(Vec<i32>);

    impl DLPackExport for Numbers {
        fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
            out.shape(&[2, 3]).data(self.0.data())
        }
    }

    fn copy_elements<T: Readable>(tensor: &ImportedTensor, order: Order) -> Result<Vec<T>, Error> {
        ElementCopy::new(tensor, order)?.to_vec()
    }

    /// A copy checks the type itself: elements of another type are copied only as
    /// bytes, in either order, whatever its caller has checked before.
    #[test]
    fn elements_are_what_they_are() {
        let tensor = Numbers((0..6).collect()).into_dlpack().expect("a tensor");
        let tensor = tensor.import().expect("ours");
        let found = DataType::I32;
        for order in [Order::RowMajor, Order::ColumnMajor] {
            let copy = copy_elements::<f32>(&tensor, order);
            assert_eq!(copy, Err(Error::ElementMismatch { requested: DataType::F32, found }));
            let copy = copy_elements::<i8>(&tensor, order);
            assert_eq!(copy, Err(Error::ElementMismatch { requested: DataType::I8, found }));
            let copy = copy_elements::<Complex<f32>>(&tensor, order);
            assert_eq!(copy, Err(Error::ElementMismatch { requested: DataType::COMPLEX64, found }));
        }
        assert_eq!(copy_elements::<i32>(&tensor, Order::RowMajor), Ok((0..6).collect()));
        assert_eq!(copy_elements::<i32>(&tensor, Order::ColumnMajor), Ok(vec![0, 3, 1, 4, 2, 5]));
        let bytes: Vec<u8> = (0..6_i32).flat_map(i32::to_ne_bytes).collect();
        assert_eq!(copy_elements::<u8>(&tensor, Order::RowMajor), Ok(bytes));
    }

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
