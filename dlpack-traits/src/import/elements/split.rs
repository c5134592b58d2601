//! Parts of the elements of a tensor, for several threads: [`ElementsPart`],
//! [`ElementsPartMut`].

use core::fmt;
use core::iter::FusedIterator;
use core::ops::Range;

use super::{Elements, ElementsMut};
use crate::element::Readable;
use crate::error::Error;
use crate::strides::MAX_NDIM;

/// A part of the elements of a tensor: a range of indices along one dimension, and all
/// indices along the others. [`Elements::split`], [`split_rows`](Elements::split_rows) and
/// [`split_along`](Elements::split_along) make it.
#[derive(Clone)]
pub struct ElementsPart<'a, T> {
    whole: Elements<'a, T>,
    axis: usize,
    start: usize,
    /// Only the first entries are used, as many as there are dimensions.
    shape: [i64; MAX_NDIM],
}

impl<'a, T: Readable> Elements<'a, T> {
    /// Splits the elements into at most `parts` parts of nearly equal size, for several
    /// threads: along the first dimension of more than one element, so that the parts follow
    /// each other in row-major order. Of a tensor of shape `(1, 4)` that is axis 1, so a part has a
    /// part of the row: [`split_rows`](Self::split_rows) keeps rows whole.
    ///
    /// The methods of `Elements` run on the calling thread only. Two threads read more memory per
    /// second than one, but starting a thread takes about 20 microseconds: split tensors of at
    /// least a few MiB.
    ///
    /// ```
    /// # use dlpack_traits::{DLPackExport, Describe, Description, Error, ImportedTensor, Storage};
    /// fn sum(tensor: &ImportedTensor) -> Result<f64, Error> {
    ///     let elements = tensor.elements::<f64>()?;
    ///     Ok(std::thread::scope(|scope| {
    ///         let sum_of = |part| scope.spawn(move || sum_of(part));
    ///         let threads: Vec<_> = elements.split(2).map(sum_of).collect();
    ///         threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    ///     }))
    /// }
    ///
    /// fn sum_of(part: dlpack_traits::ElementsPart<'_, f64>) -> f64 {
    ///     part.elements().iter().sum()
    /// }
    /// # struct Samples(Vec<f64>);
    /// # impl DLPackExport for Samples {
    /// #     fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
    /// #         out.shape(&[3, 2]).data(self.0.data())
    /// #     }
    /// # }
    /// # let tensor = Samples(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).into_dlpack()?.import()?;
    /// # assert_eq!(sum(&tensor)?, 21.0);
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    pub fn split(
        &self,
        parts: usize,
    ) -> impl ExactSizeIterator<Item = ElementsPart<'a, T>> + FusedIterator + use<'a, T> {
        // A tensor of one element, and an empty one, is one part.
        let outermost = self.shape().iter().position(|&dim| dim > 1);
        self.parts_along(outermost.filter(|_| !self.is_empty()).unwrap_or(0), parts)
    }

    /// Splits the elements into at most `parts` parts of whole rows: along axis 0 of a tensor of two or
    /// more dimensions, for [`for_each_row`](Self::for_each_row) on several threads. Any other tensor
    /// is one row, and one part.
    ///
    /// ```
    /// # use dlpack_traits::{DLPackExport, Error, OwnedTensor};
    /// let tensor = OwnedTensor::new(vec![1, 2, 3, 4, 5, 6], &[3, 2])?.into_dlpack()?.import()?;
    /// let elements = tensor.elements::<i32>()?;
    /// let mut sums = [0; 3];
    /// std::thread::scope(|scope| {
    ///     let mut rest = &mut sums[..];
    ///     for part in elements.split_rows(2) {
    ///         let (mine, others) = rest.split_at_mut(part.range().len());
    ///         rest = others;
    ///         scope.spawn(move || {
    ///             let mut mine = mine.iter_mut();
    ///             part.elements().for_each_row(|row| *mine.next().unwrap() = row.iter().sum())
    ///         });
    ///     }
    /// });
    /// assert_eq!(sums, [3, 7, 11]);
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    pub fn split_rows(
        &self,
        parts: usize,
    ) -> impl ExactSizeIterator<Item = ElementsPart<'a, T>> + FusedIterator + use<'a, T> {
        self.parts_along(0, if self.shape().len() < 2 { 1 } else { parts })
    }

    /// Splits the elements into at most `parts` parts of nearly equal size along an axis: as many as
    /// the axis has indices, if these are fewer. A tensor of one element, and an empty one, is one part.
    ///
    /// ```
    /// # use dlpack_traits::{DLPackExport, Error, OwnedTensor};
    /// let tensor = OwnedTensor::new(vec![1, 2, 3, 4, 5, 6], &[2, 3])?.into_dlpack()?.import()?;
    /// let parts = tensor.elements::<i32>()?.split_along(1, 2)?;
    /// let columns: Vec<_> = parts.map(|part| (part.range(), part.elements().to_vec())).collect();
    /// assert_eq!(columns, [(0..2, Ok(vec![1, 2, 4, 5])), (2..3, Ok(vec![3, 6]))]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchAxis`]. The axes of an element that is an array are not counted.
    #[inline]
    pub fn split_along(
        &self,
        axis: usize,
        parts: usize,
    ) -> Result<
        impl ExactSizeIterator<Item = ElementsPart<'a, T>> + FusedIterator + use<'a, T>,
        Error,
    > {
        let ndim = self.shape().len();
        if axis < ndim {
            Ok(self.parts_along(axis, parts))
        } else {
            Err(Error::NoSuchAxis { axis, ndim })
        }
    }

    /// The parts along an axis, which only a tensor without dimensions does not have.
    fn parts_along(
        &self,
        axis: usize,
        parts: usize,
    ) -> impl ExactSizeIterator<Item = ElementsPart<'a, T>> + FusedIterator + use<'a, T> {
        let whole = *self;
        // A tensor without dimensions is one element, as along a dimension of size 1.
        let mut shape = [1; MAX_NDIM];
        for (to, &dim) in shape.iter_mut().zip(whole.shape()) {
            *to = dim;
        }
        let dim = shape.get(axis).map_or(0, |&dim| usize::try_from(dim).unwrap_or(0));
        let parts = if whole.len() < 2 { 1 } else { parts.clamp(1, dim.max(1)) };
        let (each, larger) =
            (dim.checked_div(parts).unwrap_or(0), dim.checked_rem(parts).unwrap_or(0));
        (0..parts).map(move |part| {
            // The first parts have one index more.
            let start = part.saturating_mul(each).saturating_add(part.min(larger));
            let len = each.saturating_add(usize::from(part < larger));
            let mut shape = shape;
            if let (Some(dim), true) = (shape.get_mut(axis), parts > 1) {
                *dim = i64::try_from(len).unwrap_or(0);
            }
            ElementsPart { whole, axis, start, shape }
        })
    }
}

impl<T: Readable> ElementsPart<'_, T> {
    /// The elements of the part.
    #[inline]
    pub fn elements(&self) -> Elements<'_, T> {
        let rank = self.whole.shape().len();
        let stride = self.whole.typed().strides.get(self.axis).copied().unwrap_or(0);
        // The offset of an index inside of the shape fits.
        let offset = i64::try_from(self.start).unwrap_or(0).wrapping_mul(stride);
        self.whole.part(offset, self.shape.get(..rank).unwrap_or_default())
    }

    /// The dimension along which the tensor was split.
    #[inline]
    pub const fn axis(&self) -> usize {
        self.axis
    }

    /// The indices along that dimension.
    #[inline]
    pub fn range(&self) -> Range<usize> {
        let len = self.shape.get(self.axis).map_or(0, |&dim| usize::try_from(dim).unwrap_or(0));
        self.start..self.start.saturating_add(len)
    }
}

/// A part of the elements of a tensor, which may be written: [`ElementsMut::split`]. Another
/// part has other elements.
pub struct ElementsPartMut<'a, T> {
    /// Invariant: made of an `ElementsMut` that is borrowed for `'a`, whose memory all parts
    /// access byte-wise atomically.
    part: ElementsPart<'a, T>,
}

impl<T: Readable> ElementsMut<'_, T> {
    /// Splits the elements into at most `parts` parts, which several threads may write:
    /// [`Elements::split`].
    ///
    /// ```
    /// # use dlpack_traits::{Error, ImportedTensor};
    /// fn double(tensor: &mut ImportedTensor) -> Result<(), Error> {
    ///     let mut elements = tensor.elements_mut::<f32>()?;
    ///     std::thread::scope(|scope| {
    ///         for mut part in elements.split(2) {
    ///             scope.spawn(move || part.elements_mut().map_in_place(|value| 2.0 * value));
    ///         }
    ///     });
    ///     Ok(())
    /// }
    /// ```
    #[inline]
    pub fn split(
        &mut self,
        parts: usize,
    ) -> impl ExactSizeIterator<Item = ElementsPartMut<'_, T>> + FusedIterator {
        // Other threads write other parts of the memory, so all accesses are byte-wise atomic.
        self.as_elements().as_shared().split(parts).map(ElementsPartMut::new)
    }

    /// Splits the elements into at most `parts` parts of whole rows: [`Elements::split_rows`], for
    /// [`update_rows`](Self::update_rows) on several threads.
    #[inline]
    pub fn split_rows(
        &mut self,
        parts: usize,
    ) -> impl ExactSizeIterator<Item = ElementsPartMut<'_, T>> + FusedIterator {
        self.as_elements().as_shared().split_rows(parts).map(ElementsPartMut::new)
    }

    /// Splits the elements into at most `parts` parts along an axis: [`Elements::split_along`].
    ///
    /// # Errors
    ///
    /// Those of [`Elements::split_along`].
    #[inline]
    pub fn split_along(
        &mut self,
        axis: usize,
        parts: usize,
    ) -> Result<impl ExactSizeIterator<Item = ElementsPartMut<'_, T>> + FusedIterator, Error> {
        let elements = self.as_elements().as_shared();
        Ok(elements.split_along(axis, parts)?.map(ElementsPartMut::new))
    }
}

impl<'a, T: Readable> ElementsPartMut<'a, T> {
    /// The caller has made the part of an `ElementsMut`, as the invariant states.
    pub(in crate::import) const fn new(part: ElementsPart<'a, T>) -> Self {
        Self { part }
    }

    /// The elements of the part.
    #[inline]
    pub fn elements_mut(&mut self) -> ElementsMut<'_, T> {
        ElementsMut::of_part(self.part.elements())
    }

    /// The dimension along which the tensor was split.
    #[inline]
    pub const fn axis(&self) -> usize {
        self.part.axis()
    }

    /// The indices along that dimension.
    #[inline]
    pub fn range(&self) -> Range<usize> {
        self.part.range()
    }
}

impl<T> fmt::Debug for ElementsPart<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { whole, axis, start, .. } = self;
        f.debug_struct("ElementsPart")
            .field("whole", whole)
            .field("axis", axis)
            .field("start", start)
            .finish()
    }
}

impl<T> fmt::Debug for ElementsPartMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ElementsPartMut").field(&self.part).finish()
    }
}
