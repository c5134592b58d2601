//! Two or three tensors of one shape that are visited together: [`Zip`].

use alloc::vec::Vec;

use super::blocks::Blocks;
use super::{Elements, ElementsMut};
use crate::element::Readable;
use crate::error::Error;
use crate::storage::try_vec;

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
        let (a, b) = self.elements;
        let blocks = Blocks::new(a.shape(), size_of::<A>().max(size_of::<B>()));
        let (mut of_a, mut of_b) = (try_vec(blocks.most)?, try_vec(blocks.most)?);
        blocks.each(blocks.all(), |block| {
            block.of(&a).fill(&mut of_a)?;
            block.of(&b).fill(&mut of_b)?;
            f(&of_a, &of_b);
            Ok(())
        })
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
        let (a, b, c) = self.elements;
        let size = size_of::<A>().max(size_of::<B>()).max(size_of::<C>());
        let blocks = Blocks::new(a.shape(), size);
        let mut of_a: Vec<A> = try_vec(blocks.most)?;
        let (mut of_b, mut of_c) = (try_vec(blocks.most)?, try_vec(blocks.most)?);
        blocks.each(blocks.all(), |block| {
            block.of(&a).fill(&mut of_a)?;
            block.of(&b).fill(&mut of_b)?;
            block.of(&c).fill(&mut of_c)?;
            f(&of_a, &of_b, &of_c);
            Ok(())
        })
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
