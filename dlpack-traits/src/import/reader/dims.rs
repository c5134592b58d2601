//! Copies shape and strides of a foreign tensor: [`copy`], [`copy_any`].

use core::mem::MaybeUninit;

use super::raw::{RawLists, read_once};
use crate::describe::contiguous;
use crate::strides::row_major_strides;

/// Copies shape and strides to a list of as many numbers, and validates them in the loop that copies:
/// three separate loops take 6 ns longer for two dimensions. For NULL strides it writes those of a
/// contiguous row-major tensor. Each number is read once, so a producer that changes it meanwhile has no
/// effect. NULL strides share the loop of exports. Others share its arithmetic of ends only: the loop of
/// exports (`describe::walk`) also finds repeated elements, which an import does not need
/// (measured: with that loop an import takes 278 instructions instead of 217).
///
/// Returns the number of elements, and the range of elements that the strides reach; then all numbers
/// of the list have been written. `None` does not mean that the tensor is invalid: see [`copy_any`].
#[inline(always)]
pub(in crate::import) fn copy(
    to: &mut [MaybeUninit<i64>],
    RawLists { shape, strides }: RawLists<'_>,
) -> Option<(i64, ElementRange)> {
    let ndim = shape.len();
    let (to_shape, to_strides) = to.split_at_mut_checked(ndim).filter(|to| to.1.len() == ndim)?;
    let Some(strides) = strides else {
        let dims = shape.iter().map(|dim| Some(read_once(dim)));
        let axes = dims.zip(to_shape.iter_mut().zip(to_strides)).rev();
        let numel = contiguous(1, axes, |(to_dim, to_stride), dim, stride| {
            to_dim.write(dim);
            to_stride.write(stride);
        })?;
        return Some((numel, ElementRange::of_contiguous(numel)));
    };
    let mut numel = 1_i64;
    let mut reach = ElementRange::of_contiguous(1);
    // Upwards: downwards the compiler computes the end of each list first (measured: 8 instructions).
    for axis in 0..ndim {
        let (dim, stride) = (read_once(shape.get(axis)?), read_once(strides.get(axis)?));
        to_shape.get_mut(axis)?.write(dim);
        to_strides.get_mut(axis)?.write(stride);
        reach.step(dim, stride).filter(|()| dim > 0)?;
        numel = numel.checked_mul(dim)?;
    }
    Some((numel, reach))
}

/// Copies shape and strides of any tensor to a list of as many numbers, and returns the copies. NULL
/// strides become those of a contiguous row-major tensor.
pub(in crate::import) fn copy_any<'a>(
    to: &'a mut [i64],
    RawLists { shape, strides }: RawLists<'_>,
) -> (&'a [i64], &'a [i64]) {
    let (to_shape, to_strides) = to.split_at_mut(shape.len().min(to.len()));
    let copy_to = |to: &mut [i64], numbers: &[i64]| {
        to.iter_mut().zip(numbers).for_each(|(to, number)| *to = read_once(number));
    };
    copy_to(to_shape, shape);
    match strides {
        Some(strides) => copy_to(to_strides, strides),
        None => row_major_strides(to_shape, to_strides),
    }
    (to_shape, to_strides)
}

/// The range of elements that an import reaches, counted from the first element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::import) struct ElementRange {
    /// The lowest element: 0 or negative.
    low: i64,
    /// The highest element: 0 or positive.
    high: i64,
}

impl ElementRange {
    /// The elements of a contiguous tensor.
    #[inline(always)]
    pub(in crate::import) const fn of_contiguous(numel: i64) -> Self {
        Self { low: 0, high: numel.wrapping_sub(1) }
    }

    /// Adds an axis. `None` if an end does not fit in 64 bits.
    #[inline(always)]
    fn step(&mut self, dim: i64, stride: i64) -> Option<()> {
        let last = dim.wrapping_sub(1).checked_mul(stride)?;
        if last < 0 {
            self.low = self.low.checked_add(last)?;
        } else {
            self.high = self.high.checked_add(last)?;
        }
        Some(())
    }

    /// Number of elements before the first one.
    #[inline(always)]
    #[expect(clippy::cast_sign_loss, reason = "`low` is not positive")]
    pub(in crate::import) const fn below(self) -> u64 {
        0_i64.wrapping_sub(self.low) as u64
    }

    /// Number of elements from the first one to the highest, both included.
    #[inline(always)]
    #[expect(clippy::cast_sign_loss, reason = "`high` is not negative")]
    pub(in crate::import) const fn above(self) -> u64 {
        (self.high as u64).wrapping_add(1)
    }
}
