//! Two or three tensors of one shape that are visited together: [`Zip`], in numbered blocks: [`Blocks`].

use alloc::vec::Vec;
use core::ops::Range;

use super::{Elements, ElementsMut};
use crate::element::Readable;
use crate::error::Error;
use crate::storage::try_vec;
use crate::strides::{self, MAX_NDIM};

/// The elements of two or three tensors of one shape, in any layouts: [`Elements::zip`].
#[derive(Clone, Copy, Debug)]
pub struct Zip<E> {
    elements: E,
}

impl<'a, A: Readable> Elements<'a, A> {
    /// Visits the elements together with those of another tensor of the same shape. The layouts and
    /// types can differ. [`and`](Zip::and) adds a third one; [`ElementsMut::update_with`] writes the first.
    ///
    /// ```
    /// use dlpack_traits::{DLPackExport, Error, OwnedTensor};
    ///
    /// let values = OwnedTensor::new(vec![1.5_f32, 2.0, 3.0, 4.0], &[2, 2])?.into_dlpack()?.import()?;
    /// let mask = OwnedTensor::new(vec![true, false, false, true], &[2, 2])?.into_dlpack()?.import()?;
    /// let mut sum = 0.0;
    /// values.elements::<f32>()?.zip(&mask.elements::<bool>()?)?.for_each_block(|values, mask| {
    ///     let chosen = values.iter().zip(mask).filter(|(_, chosen)| **chosen);
    ///     sum += chosen.map(|(value, _)| value).sum::<f32>();
    /// })?;
    /// assert_eq!(sum, 5.5);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::ShapesDiffer`], [`Error::RanksDiffer`]. The axes of elements that are arrays are not compared.
    pub fn zip<B: Readable>(
        &self,
        other: &Elements<'a, B>,
    ) -> Result<Zip<(Self, Elements<'a, B>)>, Error> {
        same_shape(self.shape(), other.shape())?;
        Ok(Zip { elements: (*self, *other) })
    }
}

impl<'a, A: Readable, B: Readable> Zip<(Elements<'a, A>, Elements<'a, B>)> {
    /// Adds a third tensor of the same shape.
    ///
    /// # Errors
    ///
    /// [`Error::ShapesDiffer`], [`Error::RanksDiffer`].
    #[expect(clippy::type_complexity, reason = "a tuple of three")]
    pub fn and<C: Readable>(
        &self,
        third: &Elements<'a, C>,
    ) -> Result<Zip<(Elements<'a, A>, Elements<'a, B>, Elements<'a, C>)>, Error> {
        let (a, b) = self.elements;
        same_shape(a.shape(), third.shape())?;
        Ok(Zip { elements: (a, b, *third) })
    }

    /// Calls a function with blocks of the elements at the same indices, in row-major order. Blocks
    /// are not empty; all of one call have the same length, of at most 8 KiB, or one larger element.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidBits`], [`Error::OutOfMemory`].
    pub fn for_each_block(&self, mut f: impl FnMut(&[A], &[B])) -> Result<(), Error> {
        self.elements.each(self.elements.0.shape(), |(a, b)| f(a, b))
    }
}

impl<A: Readable, B: Readable, C: Readable>
    Zip<(Elements<'_, A>, Elements<'_, B>, Elements<'_, C>)>
{
    /// Calls a function with blocks of the elements at the same indices, as for two tensors.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidBits`], [`Error::OutOfMemory`].
    pub fn for_each_block(&self, mut f: impl FnMut(&[A], &[B], &[C])) -> Result<(), Error> {
        self.elements.each(self.elements.0.shape(), |(a, b, c)| f(a, b, c))
    }
}

impl<T: Readable> ElementsMut<'_, T> {
    /// Calls a function with blocks of the elements and of those of another tensor of the same shape, at
    /// the same indices in row-major order, and writes each block of the first one back.
    ///
    /// If both share memory, the block of the second one is read before that of the first is written,
    /// and after the blocks before have been.
    ///
    /// ```
    /// use dlpack_traits::{DLPackExport, Error, OwnedTensor};
    ///
    /// let mut sum = OwnedTensor::new(vec![1.0_f32, 2.0], &[2])?.into_dlpack()?.import()?;
    /// let more = OwnedTensor::new(vec![10_u8, 20], &[2])?.into_dlpack()?.import()?;
    /// sum.elements_mut::<f32>()?.update_with(&more.elements::<u8>()?, |sum, more| {
    ///     sum.iter_mut().zip(more).for_each(|(sum, &more)| *sum += f32::from(more));
    /// })?;
    /// assert_eq!(sum.elements::<f32>()?.to_vec()?, [11.0, 22.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::ShapesDiffer`], [`Error::RanksDiffer`], [`Error::InvalidBits`], [`Error::OutOfMemory`].
    pub fn update_with<U: Readable>(
        &mut self,
        other: &Elements<'_, U>,
        mut f: impl FnMut(&mut [T], &[U]),
    ) -> Result<(), Error> {
        let own = self.as_elements();
        same_shape(own.shape(), other.shape())?;
        let blocks = Blocks::new(own.shape(), size_of::<T>().max(size_of::<U>()));
        let (mut of_own, mut of_other) = (try_vec(blocks.most)?, try_vec(blocks.most)?);
        blocks.each(blocks.all(), |block| {
            let part = block.of(&own);
            part.fill(&mut of_own)?;
            block.of(other).fill(&mut of_other)?;
            f(&mut of_own, &of_other);
            ElementsMut::of_part(part).copy_from_slice(&of_own)
        })
    }
}

/// The elements of one to three tensors of one shape, which are read block by block.
#[cfg_attr(
    not(feature = "pyo3"),
    expect(unreachable_pub, reason = "a sealed trait of `map` names it, with `pyo3`")
)]
pub trait Together: Copy {
    /// The size of the largest element.
    const SIZE: usize;

    /// Elements of each tensor at the same indices.
    type Buffers;

    fn buffers(most: usize) -> Result<Self::Buffers, Error>;

    /// Reads a block of each tensor.
    fn read(&self, block: &Block<'_>, to: &mut Self::Buffers) -> Result<(), Error>;

    /// Calls a function with each block of the shape.
    fn each(&self, shape: &[i64], mut f: impl FnMut(&Self::Buffers)) -> Result<(), Error> {
        let blocks = Blocks::new(shape, Self::SIZE);
        let mut buffers = Self::buffers(blocks.most)?;
        blocks.each(blocks.all(), |block| {
            self.read(&block, &mut buffers)?;
            f(&buffers);
            Ok(())
        })
    }
}

macro_rules! together {
    ($($T:ident $at:tt),+) => {
        impl<$($T: Readable),+> Together for ($(Elements<'_, $T>,)+) {
            const SIZE: usize = {
                let mut largest = 1;
                $(if size_of::<$T>() > largest {
                    largest = size_of::<$T>();
                })+
                largest
            };

            type Buffers = ($(Vec<$T>,)+);

            fn buffers(most: usize) -> Result<Self::Buffers, Error> {
                Ok(($(try_vec::<$T>(most)?,)+))
            }

            fn read(&self, block: &Block<'_>, to: &mut Self::Buffers) -> Result<(), Error> {
                $(read(block, &self.$at, &mut to.$at)?;)+
                Ok(())
            }
        }
    };
}

#[cfg(feature = "pyo3")]
together!(A 0);
together!(A 0, B 1);
together!(A 0, B 1, C 2);

/// Reads a block. One repeated element is read once for several blocks.
fn read<T: Readable>(
    block: &Block<'_>,
    from: &Elements<'_, T>,
    to: &mut Vec<T>,
) -> Result<(), Error> {
    let part = block.of(from);
    if part.len() <= to.len() && from.typed().strides.iter().all(|&stride| stride == 0) {
        to.truncate(part.len());
        return Ok(());
    }
    part.fill(to)
}

/// Checks that two shapes are equal.
fn same_shape(expected: &[i64], found: &[i64]) -> Result<(), Error> {
    if expected == found {
        return Ok(());
    }
    if expected.len() != found.len() {
        return Err(Error::RanksDiffer { expected: expected.len(), found: found.len() });
    }
    let pairs = expected.iter().zip(found).enumerate();
    let mut pairs = pairs.map(|(axis, (&expected, &found))| (axis, expected, found));
    let different = pairs.find(|(_, expected, found)| expected != found);
    let (axis, expected, found) = different.unwrap_or_default();
    Err(Error::ShapesDiffer { axis, expected, found })
}

/// The most bytes of the elements of each tensor that are read at a time.
const BLOCK: usize = 8192;

/// How a shape is cut into blocks: a range of indices along one axis, with all indices along the axes
/// inside of it. In the order of their numbers they are the elements in row-major order.
#[derive(Clone, Copy)]
pub(super) struct Blocks<'a> {
    shape: &'a [i64],
    /// The axis that is cut; the number of axes before it.
    cut: usize,
    /// Indices along it in each block.
    step: i64,
    /// Blocks along it.
    along: i64,
    /// The most elements of a block.
    pub(super) most: usize,
    /// The number of blocks.
    pub(super) count: i64,
}

/// A block of the elements of a shape.
#[derive(Debug)]
#[cfg_attr(
    not(feature = "pyo3"),
    expect(unreachable_pub, reason = "a sealed trait of `map` names it, with `pyo3`")
)]
pub struct Block<'a> {
    /// The number of the first element in row-major order.
    first: i64,
    whole: &'a [i64],
    shape: &'a [i64],
}

impl Block<'_> {
    /// The number of elements.
    #[cfg(feature = "pyo3")]
    pub(super) fn numel(&self) -> usize {
        let numel = self.shape.iter().fold(1_i64, |all, &dim| all.wrapping_mul(dim));
        usize::try_from(numel).unwrap_or(0)
    }

    /// The elements of a tensor of the whole shape in this block.
    pub(super) fn of<'s, T: Readable>(&'s self, elements: &Elements<'s, T>) -> Elements<'s, T> {
        let offset = strides::offset_of(self.first, self.whole, elements.typed().strides);
        elements.part(offset, self.shape)
    }
}

impl<'a> Blocks<'a> {
    /// Blocks of elements of at most `size` bytes.
    pub(super) fn new(shape: &'a [i64], size: usize) -> Self {
        let room = i64::try_from(BLOCK.checked_div(size).unwrap_or(1).max(1)).unwrap_or(1);
        let (mut cut, mut inside) = (shape.len(), 1_i64);
        let mut step = 1;
        for (axis, &dim) in shape.iter().enumerate().rev() {
            cut = axis;
            step = room.checked_div(inside).unwrap_or(1).clamp(1, dim.max(1));
            if step < dim {
                break;
            }
            inside = inside.saturating_mul(dim);
        }
        // The numbers of elements fit, unless a dimension is 0.
        let product = |dims: &[i64]| dims.iter().fold(1_i64, |all, &dim| all.wrapping_mul(dim));
        let (outer, inner) = shape.split_at_checked(cut).unwrap_or_default();
        let (dim, inner) = inner.split_first().map_or((1, inner), |(&dim, inner)| (dim, inner));
        let along = dim.wrapping_add(step).wrapping_sub(1).checked_div(step).unwrap_or(0);
        let count = if shape.contains(&0) { 0 } else { product(outer).wrapping_mul(along) };
        let most = inner.iter().fold(step, |most, &dim| most.saturating_mul(dim));
        Self { shape, cut, step, along, most: usize::try_from(most).unwrap_or(0), count }
    }

    /// The number of the first element of a block, in row-major order.
    pub(super) fn first_of(&self, number: i64) -> i64 {
        let along = self.along;
        let inner = self.shape.get(self.cut..).unwrap_or_default();
        let each = inner.iter().fold(1_i64, |all, &dim| all.wrapping_mul(dim));
        let each_index = inner.iter().skip(1).fold(1_i64, |all, &dim| all.wrapping_mul(dim));
        let pass = number.checked_div(along).unwrap_or(0);
        let at = number.checked_rem(along).unwrap_or(0);
        let start = at.wrapping_mul(self.step).wrapping_mul(each_index);
        pass.wrapping_mul(each).wrapping_add(start)
    }

    /// Calls a function with each block of a range of numbers.
    pub(super) fn each<E>(
        &self,
        numbers: Range<i64>,
        mut f: impl FnMut(Block<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let Self { shape: whole, cut, step, along, .. } = *self;
        let mut shape = [1; MAX_NDIM];
        let inner = whole.get(cut.saturating_add(1)..).unwrap_or_default();
        for (to, &dim) in shape.iter_mut().skip(cut).skip(1).zip(inner) {
            *to = dim;
        }
        let dim = whole.get(cut).copied().unwrap_or(1);
        for number in numbers {
            let start = number.checked_rem(along).unwrap_or(0).wrapping_mul(step);
            if let Some(to) = shape.get_mut(cut).filter(|_| cut < whole.len()) {
                *to = step.min(dim.wrapping_sub(start));
            }
            let shape = shape.get(..whole.len()).unwrap_or_default();
            f(Block { first: self.first_of(number), whole, shape })?;
        }
        Ok(())
    }

    /// All numbers.
    pub(super) const fn all(&self) -> Range<i64> {
        0..self.count
    }
}
