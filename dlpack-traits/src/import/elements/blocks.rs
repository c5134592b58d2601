//! The elements of a shape in numbered blocks, for tensors that are visited together: [`Blocks`].

use core::ops::Range;

use super::Elements;
use crate::element::Readable;
use crate::strides::{self, MAX_NDIM};

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
