//! Views of a part of an import, zero-copy: `select`, `narrow`, `permute`, `reverse`,
//! `broadcast_to` of an [`ImportedTensor`] and of an [`ImportedStorage`].
//!
//! A view is a node of its own, which keeps the node that owns the memory
//! ([`Owner`](super::reader::node::Owner)). Its elements are elements of the import, so the checks here are
//! those of the axes and indices; [`Metadata::part`](super::reader::validate::Metadata::part) computes
//! the bytes by the validation of an import.

use core::ops::{Bound, RangeBounds};

use super::reader::node::Node;
use super::{ImportedElement, ImportedStorage, ImportedTensor};
use crate::dims::{AsDims, Dims};
use crate::error::Error;
use crate::strides::MAX_NDIM;

/// The difference between a tensor and its view.
#[derive(Clone, Copy)]
enum View<'a> {
    /// One index of an axis, which is removed.
    Select(usize, usize),
    /// A range of indices of an axis, from the first number to before the second.
    Narrow(usize, (usize, usize)),
    /// The axes in another order.
    Permute(&'a [usize]),
    /// The indices of an axis in descending order.
    Reverse(usize),
    /// These dimensions, by repetition.
    Broadcast(&'a [i64]),
}

/// Methods that return a view: other elements, or another order, in the memory of the same producer.
/// The view is an import as its source was: it has its access, device and data type, and can be read,
/// kept and exported again.
///
/// A part of an array can be kept beyond a call, and returned to Python:
/// [`keep_argument`](crate::guide::keep_argument) has an example. Each method takes the tensor, which on
/// an error is released; those of [`ImportedStorage`] borrow it, for several views.
impl ImportedTensor {
    /// The elements at one index of an axis, which the result does not have: `x[i]` in Python for
    /// axis 0, `x[:, i]` for axis 1.
    ///
    /// ```
    /// use dlpack_traits::{DLPackExport, Error, OwnedTensor};
    ///
    /// let matrix = || OwnedTensor::new(vec![1, 2, 3, 4, 5, 6], &[2, 3])?.into_dlpack()?.import();
    /// let row = matrix()?.select(0, 1)?;
    /// assert_eq!((row.shape(), row.elements::<i32>()?.to_vec()?), (&[3][..], vec![4, 5, 6]));
    /// let column = matrix()?.select(1, 1)?;
    /// assert_eq!((column.strides(), column.elements::<i32>()?.to_vec()?), (&[3][..], vec![2, 5]));
    /// assert_eq!(matrix()?.select(0, 2).err(), Some(Error::NoSuchIndex { axis: 0, index: 2, dim: 2 }));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchAxis`]; [`Error::NoSuchIndex`], in Python an `IndexError`;
    /// [`Error::InsideByte`] if a packed element of less than 8 bits does not begin at a byte;
    /// [`Error::OutOfMemory`].
    pub fn select(self, axis: usize, index: usize) -> Result<Self, Error> {
        self.view(self.ndim(), View::Select(axis, index))
    }

    /// The elements at a range of indices of an axis: `x[1:3]` in Python for axis 0 and `1..3`. The
    /// range may be empty.
    ///
    /// ```
    /// use dlpack_traits::{DLPackExport, Error, OwnedTensor};
    ///
    /// let list = OwnedTensor::from_vec(vec![1.5_f32, 2.5, 3.5, 4.5]).into_dlpack()?.import()?;
    /// let last = list.narrow(0, 1..)?.narrow(0, ..2)?;
    /// assert_eq!(last.elements::<f32>()?.to_vec()?, [2.5, 3.5]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchAxis`]; [`Error::NoSuchRange`] if the range ends beyond the axis or before its
    /// start; [`Error::InsideByte`] and [`Error::OutOfMemory`] as for [`select`](Self::select).
    pub fn narrow(self, axis: usize, range: impl RangeBounds<usize>) -> Result<Self, Error> {
        self.view(self.ndim(), View::Narrow(axis, self.bounds(axis, range)))
    }

    /// The axes in another order, as `numpy.transpose` of a list of axes: axis `i` of the result is
    /// axis `axes[i]` of the tensor.
    ///
    /// ```
    /// use dlpack_traits::{DLPackExport, Error, OwnedTensor};
    ///
    /// let matrix = OwnedTensor::new(vec![1, 2, 3, 4, 5, 6], &[2, 3])?.into_dlpack()?.import()?;
    /// let transposed = matrix.permute(&[1, 0])?;
    /// assert_eq!((transposed.shape(), transposed.strides()), (&[3, 2][..], &[1, 3][..]));
    /// assert_eq!(transposed.elements::<i32>()?.to_vec()?, [1, 4, 2, 5, 3, 6]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchAxis`]; [`Error::NotPermutation`] if `axes` does not have each axis once;
    /// [`Error::OutOfMemory`].
    pub fn permute(self, axes: &[usize]) -> Result<Self, Error> {
        self.view(self.ndim(), View::Permute(axes))
    }

    /// The indices of an axis in descending order: `x[::-1]` in Python for axis 0. The stride of the
    /// result is negative, which PyTorch does not have.
    ///
    /// ```
    /// use dlpack_traits::{DLPackExport, Error, OwnedTensor};
    ///
    /// let list = OwnedTensor::from_vec(vec![1_u8, 2, 3]).into_dlpack()?.import()?;
    /// let reversed = list.reverse(0)?;
    /// assert_eq!(reversed.strides(), [-1]);
    /// assert_eq!(reversed.elements::<u8>()?.to_vec()?, [3, 2, 1]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchAxis`]; [`Error::InsideByte`] and [`Error::OutOfMemory`] as for
    /// [`select`](Self::select).
    pub fn reverse(self, axis: usize) -> Result<Self, Error> {
        self.view(self.ndim(), View::Reverse(axis))
    }

    /// The elements repeated to a shape, as `numpy.broadcast_to`: new axes before the others, and axes of
    /// one index, are repeated by a stride of 0. The memory is not copied, and the result cannot be written.
    ///
    /// ```
    /// use dlpack_traits::{DLPackExport, Error, OwnedTensor};
    ///
    /// let row = OwnedTensor::new(vec![1, 2, 3], &[1, 3])?.into_dlpack()?.import()?;
    /// let matrix = row.broadcast_to(&[2, 3])?;
    /// assert_eq!((matrix.shape(), matrix.strides()), (&[2, 3][..], &[0, 1][..]));
    /// assert_eq!(matrix.elements::<i32>()?.to_vec()?, [1, 2, 3, 1, 2, 3]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::ShapesDiffer`] for a dimension that is neither equal nor 1; [`Error::RanksDiffer`] for
    /// fewer dimensions than the tensor has; [`Error::NegativeDim`], [`Error::TooManyDims`],
    /// [`Error::SizeOverflow`]; those of [`Dims::of`]; [`Error::OutOfMemory`].
    pub fn broadcast_to(self, shape: &(impl AsDims + ?Sized)) -> Result<Self, Error> {
        self.repeated(Dims::of(shape)?.as_slice())
    }

    /// As [`broadcast_to`](Self::broadcast_to); the memory has another owner.
    pub(crate) fn repeated(&self, shape: &[i64]) -> Result<Self, Error> {
        self.view(self.ndim(), View::Broadcast(shape))
    }

    /// A view that shares the ownership, whose first axes, `rank` of them, may change.
    fn view(&self, rank: usize, view: View<'_>) -> Result<Self, Error> {
        let (shape, strides) = (self.shape(), self.strides());
        let pairs = shape.iter().copied().zip(strides.iter().copied());
        let at = |axis: usize| {
            let found = pairs.clone().take(rank).nth(axis);
            found.ok_or(Error::NoSuchAxis { axis, ndim: rank })
        };
        let replaced = |axis: usize, new| {
            pairs.clone().enumerate().map(move |(at, old)| if at == axis { new } else { old })
        };
        let ndim = self.ndim();
        // The product of an index and its stride fits, unless the tensor is empty.
        match view {
            View::Select(axis, index) => {
                let (dim, stride) = at(axis)?;
                let place = i64::try_from(index).ok().filter(|&index| index < dim);
                let place = place.ok_or(Error::NoSuchIndex { axis, index, dim })?;
                let others = pairs.enumerate().filter(|&(at, _)| at != axis).map(|(_, old)| old);
                self.part(ndim.saturating_sub(1), others, place.wrapping_mul(stride))
            }
            View::Narrow(axis, (start, end)) => {
                let (dim, stride) = at(axis)?;
                let error = Error::NoSuchRange { axis, start, end, dim };
                let last = i64::try_from(end).ok().filter(|&end| end <= dim).ok_or(error)?;
                let first =
                    i64::try_from(start).ok().filter(|&start| start <= last).ok_or(error)?;
                let new = (last.saturating_sub(first), stride);
                self.part(ndim, replaced(axis, new), first.wrapping_mul(stride))
            }
            View::Permute(order) => {
                for &axis in order {
                    at(axis)?;
                }
                for axis in 0..rank {
                    let times = order.iter().filter(|&&other| other == axis).count();
                    if times != 1 {
                        return Err(Error::NotPermutation { axis, times, ndim: rank });
                    }
                }
                let ordered = order.iter().filter_map(|&axis| at(axis).ok());
                self.part(ndim, ordered.chain(pairs.clone().skip(rank)), 0)
            }
            View::Reverse(axis) => {
                let (dim, stride) = at(axis)?;
                let last = dim.saturating_sub(1).wrapping_mul(stride);
                self.part(ndim, replaced(axis, (dim, stride.wrapping_neg())), last)
            }
            View::Broadcast(to) => {
                let new = to.len().checked_sub(rank);
                let new = new.ok_or(Error::RanksDiffer { expected: rank, found: to.len() })?;
                let ndim = ndim.saturating_add(new);
                if ndim > MAX_NDIM {
                    return Err(Error::TooManyDims { ndim });
                }
                if let Some((axis, &dim)) = to.iter().enumerate().find(|(_, dim)| **dim < 0) {
                    return Err(Error::NegativeDim { axis, dim });
                }
                let own = to.iter().skip(new).zip(pairs.clone().take(rank));
                for (axis, (&found, (expected, _))) in own.clone().enumerate() {
                    if expected != found && expected != 1 {
                        return Err(Error::ShapesDiffer { axis, expected, found });
                    }
                }
                let own = own.map(|(&to, (dim, stride))| (to, if dim == to { stride } else { 0 }));
                let before = to.iter().take(new).map(|&dim| (dim, 0));
                self.part(ndim, before.chain(own).chain(pairs.skip(rank)), 0)
            }
        }
    }

    /// A view with these dimensions and strides, whose first element is `offset` units of stride after
    /// that of this tensor.
    fn part(
        &self,
        ndim: usize,
        axes: impl Iterator<Item = (i64, i64)>,
        offset: i64,
    ) -> Result<Self, Error> {
        Node::part_of(self.node(), ndim, axes, offset).map(Self::of_node)
    }

    /// The first index of a range, and the one after its last.
    fn bounds(&self, axis: usize, range: impl RangeBounds<usize>) -> (usize, usize) {
        let dim = self.shape().get(axis).and_then(|&dim| usize::try_from(dim).ok());
        let start = match range.start_bound() {
            Bound::Included(&start) => start,
            Bound::Excluded(&before) => before.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(&last) => last.saturating_add(1),
            Bound::Excluded(&end) => end,
            Bound::Unbounded => dim.unwrap_or(usize::MAX),
        };
        (start, end)
    }
}

/// Methods that return a view, as those of [`ImportedTensor`], and share the ownership: several views
/// of one import can be kept and exported. If `T` is an array, its axes are not counted, and stay.
///
/// ```
/// use dlpack_traits::{DLPackExport, Error, ImportedStorage, OwnedTensor};
///
/// /// Images of one batch, which another library owns.
/// struct Dataset {
///     images: ImportedStorage<f32>,
/// }
///
/// impl Dataset {
///     /// An image without a copy, which can be exported.
///     fn image(&self, index: usize) -> Result<ImportedStorage<f32>, Error> {
///         self.images.select(0, index)
///     }
/// }
///
/// let batch = OwnedTensor::new((0..8).map(|n| n as f32).collect(), &[2, 2, 2])?;
/// let dataset = Dataset { images: ImportedStorage::new(batch.into_dlpack()?.import()?)? };
/// let image = dataset.image(1)?;
/// drop(dataset);
/// assert_eq!(image.elements()?.to_vec()?, [4.0, 5.0, 6.0, 7.0]);
/// assert_eq!(image.to_dlpack()?.shape(), [2, 2]);
/// # Ok::<(), Error>(())
/// ```
impl<T: ImportedElement> ImportedStorage<T> {
    /// The elements at one index of an axis: [`ImportedTensor::select`].
    ///
    /// # Errors
    ///
    /// Those of [`ImportedTensor::select`].
    pub fn select(&self, axis: usize, index: usize) -> Result<Self, Error> {
        self.view(View::Select(axis, index))
    }

    /// The elements at a range of indices of an axis: [`ImportedTensor::narrow`].
    ///
    /// # Errors
    ///
    /// Those of [`ImportedTensor::narrow`].
    pub fn narrow(&self, axis: usize, range: impl RangeBounds<usize>) -> Result<Self, Error> {
        self.view(View::Narrow(axis, self.imported().bounds(axis, range)))
    }

    /// The axes in another order: [`ImportedTensor::permute`].
    ///
    /// # Errors
    ///
    /// Those of [`ImportedTensor::permute`].
    pub fn permute(&self, axes: &[usize]) -> Result<Self, Error> {
        self.view(View::Permute(axes))
    }

    /// The indices of an axis in descending order: [`ImportedTensor::reverse`].
    ///
    /// # Errors
    ///
    /// Those of [`ImportedTensor::reverse`].
    pub fn reverse(&self, axis: usize) -> Result<Self, Error> {
        self.view(View::Reverse(axis))
    }

    /// The elements repeated to a shape: [`ImportedTensor::broadcast_to`].
    ///
    /// # Errors
    ///
    /// Those of [`ImportedTensor::broadcast_to`].
    pub fn broadcast_to(&self, shape: &(impl AsDims + ?Sized)) -> Result<Self, Error> {
        self.view(View::Broadcast(Dims::of(shape)?.as_slice()))
    }

    /// A view, which is another owner of the same memory.
    fn view(&self, view: View<'_>) -> Result<Self, Error> {
        let tensor = self.imported();
        let rank = tensor.ndim().saturating_sub(Self::axes_in(tensor).len());
        self.with(tensor.view(rank, view)?)
    }
}
