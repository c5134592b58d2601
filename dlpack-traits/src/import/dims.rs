//! Shape and strides of an imported tensor: [`ImportedDims`].

use alloc::vec::Vec;
use core::mem::MaybeUninit;
use core::slice;

use crate::describe::ElementRange;
use crate::error::Error;
use crate::strides::{self, MAX_NDIM};

/// The maximum number of dimensions that are stored inline.
pub(super) const INLINE: usize = 8;

/// Shape and strides, each number copied once: inline up to 8 dimensions, in one heap
/// allocation beyond.
///
/// Invariant: if `heap` is empty, the first `ndim` numbers of each half of `inline` are
/// initialized.
pub(super) struct ImportedDims {
    ndim: usize,
    /// The shape, then the strides, of more dimensions than fit inline.
    heap: Vec<i64>,
    /// One half for the shape, one half for the strides. Not zeroed: zeroing takes longer
    /// than filling four of them.
    inline: [MaybeUninit<i64>; 2 * INLINE],
}

impl ImportedDims {
    /// No dimensions.
    #[inline(always)]
    pub(super) const fn none() -> Self {
        Self { ndim: 0, heap: Vec::new(), inline: [MaybeUninit::uninit(); 2 * INLINE] }
    }

    /// Copies up to 8 extents and as many strides, and validates them in the same loop:
    /// three separate loops take 6 ns longer for two dimensions. If there are no strides,
    /// it writes those of a contiguous row-major tensor. Returns the number of elements,
    /// and the range of elements that the strides reach.
    ///
    /// Each number is read once, so a producer that changes it meanwhile has no effect. If
    /// the fast path gives up, which does not mean that the tensor is invalid, the error is
    /// the number of leading axes that were not copied: [`copy`](Self::copy) copies them.
    #[inline(always)]
    pub(super) fn walk(
        &mut self,
        shape: &[i64],
        strides: Option<&[i64]>,
    ) -> Result<(i64, ElementRange), usize> {
        let ndim = shape.len();
        let (to_shape, to_strides) = self.inline.split_at_mut(INLINE);
        let (Some(to_shape), Some(to_strides)) =
            (to_shape.get_mut(..ndim), to_strides.get_mut(..ndim))
        else {
            return Err(ndim);
        };
        let walked =
            walk_to((to_shape, to_strides), (shape, strides), |to, number| _ = to.write(number))?;
        self.ndim = ndim;
        Ok(walked)
    }

    /// As [`walk`](Self::walk), for more than 8 dimensions, which it copies to the heap.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    #[cold]
    pub(super) fn walk_on_heap(
        &mut self,
        shape: &[i64],
        strides: Option<&[i64]>,
    ) -> Result<Result<(i64, ElementRange), usize>, Error> {
        let numbers = shape.len().saturating_mul(2);
        let reserved = self.heap.try_reserve_exact(numbers);
        let bytes = numbers.saturating_mul(size_of::<i64>());
        reserved.map_err(|_| Error::OutOfMemory { bytes })?;
        self.heap.resize(numbers, 0);
        self.ndim = shape.len();
        let to = self.heap.split_at_mut(self.ndim);
        Ok(walk_to(to, (shape, strides), |to, number| *to = number))
    }

    /// Copies the first `left` extents and strides; [`walk`](Self::walk) or
    /// [`walk_on_heap`](Self::walk_on_heap) has copied the others.
    #[inline]
    pub(super) fn copy(&mut self, shape: &[i64], strides: Option<&[i64]>, left: usize) {
        self.ndim = shape.len();
        if self.heap.is_empty() {
            let to = self.inline.split_at_mut(INLINE);
            copy_to(to, (shape, strides), left, |to, number| _ = to.write(number));
        } else {
            let to = self.heap.split_at_mut(self.ndim);
            copy_to(to, (shape, strides), left, |to, number| *to = number);
        }
        if strides.is_none() {
            self.fill_strides();
        }
    }

    /// Writes the strides of a contiguous row-major tensor.
    fn fill_strides(&mut self) {
        let mut row_major = [0; MAX_NDIM];
        strides::row_major_strides(self.shape(), &mut row_major);
        if let Some(strides) = self.heap.get_mut(self.ndim..) {
            strides.iter_mut().zip(row_major).for_each(|(to, stride)| *to = stride);
        }
        if let Some(strides) = self.inline.get_mut(INLINE..) {
            strides.iter_mut().zip(row_major).for_each(|(to, stride)| _ = to.write(stride));
        }
    }

    /// Extents.
    #[inline(always)]
    pub(super) fn shape(&self) -> &[i64] {
        if self.heap.is_empty() {
            self.in_place(0)
        } else {
            self.heap.get(..self.ndim).unwrap_or_default()
        }
    }

    /// Strides.
    #[inline(always)]
    pub(super) fn strides(&self) -> &[i64] {
        if self.heap.is_empty() {
            self.in_place(INLINE)
        } else {
            self.heap.get(self.ndim..).unwrap_or_default()
        }
    }

    /// The `ndim` inline numbers from `first` on.
    #[inline(always)]
    fn in_place(&self, first: usize) -> &[i64] {
        let numbers = self.inline.get(first..).unwrap_or_default();
        let ndim = self.ndim.min(numbers.len());
        // SAFETY: by the invariant `ndim` numbers are initialized from 0 and from `INLINE`
        // on, and `ndim` is at most the length of `numbers`.
        unsafe { slice::from_raw_parts(numbers.as_ptr().cast(), ndim) }
    }
}

/// Copies shape and strides with `put` to lists of the same length, last axis first, and
/// validates them; see [`ImportedDims::walk`].
#[inline(always)]
fn walk_to<N>(
    (to_shape, to_strides): (&mut [N], &mut [N]),
    (shape, strides): (&[i64], Option<&[i64]>),
    put: impl Fn(&mut N, i64),
) -> Result<(i64, ElementRange), usize> {
    let to = to_shape.iter_mut().zip(to_strides).enumerate();
    let (mut numel, mut reach) = (1_i64, ElementRange::of_contiguous(1));
    let mut step = |dim: i64, stride: i64| {
        reach.step(dim, stride).filter(|()| dim > 0)?;
        numel = numel.checked_mul(dim)?;
        Some(numel)
    };
    if let Some(strides) = strides.and_then(|strides| strides.get(..shape.len())) {
        for ((axis, (to_dim, to_stride)), (dim, stride)) in to.zip(shape.iter().zip(strides)).rev()
        {
            let (dim, stride) = (read_once(dim), read_once(stride));
            put(to_dim, dim);
            put(to_stride, stride);
            step(dim, stride).ok_or(axis)?;
        }
    } else {
        let mut stride = 1;
        for ((axis, (to_dim, to_stride)), dim) in to.zip(shape).rev() {
            let dim = read_once(dim);
            put(to_dim, dim);
            put(to_stride, stride);
            stride = step(dim, stride).ok_or(axis)?;
        }
    }
    Ok((numel, reach))
}

/// Copies the first `left` extents, and strides if there are some, with `put`.
#[inline(always)]
fn copy_to<N>(
    (to_shape, to_strides): (&mut [N], &mut [N]),
    (shape, strides): (&[i64], Option<&[i64]>),
    left: usize,
    put: impl Fn(&mut N, i64),
) {
    to_shape.iter_mut().zip(shape).take(left).for_each(|(to, dim)| put(to, read_once(dim)));
    let strides = strides.into_iter().flatten();
    to_strides
        .iter_mut()
        .zip(strides)
        .take(left)
        .for_each(|(to, stride)| put(to, read_once(stride)));
}

/// Reads a number of a foreign array by exactly one load. The compiler may turn an ordinary read
/// into two, and did in release builds.
#[inline(always)]
fn read_once(number: &i64) -> i64 {
    // SAFETY: `number` is a reference to an initialized number.
    unsafe { (&raw const *number).read_volatile() }
}
