//! Shape and strides of an imported tensor: [`ImportedDims`].

use alloc::boxed::Box;
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
/// Invariant: the first `ndim` numbers of both halves are initialized.
pub(super) struct ImportedDims {
    ndim: usize,
    /// `ndim` extents, then as many strides, if they do not fit inline. A boxed slice and
    /// not a `Vec`: the `None` of most imports is one store, an empty `Vec` three.
    heap: Option<Box<[MaybeUninit<i64>]>>,
    /// One half for the shape, one half for the strides. Not zeroed: zeroing takes longer
    /// than filling four of them.
    inline: [MaybeUninit<i64>; 2 * INLINE],
}

impl ImportedDims {
    /// No dimensions.
    #[inline(always)]
    pub(super) fn none() -> Self {
        Self { ndim: 0, heap: None, inline: [const { MaybeUninit::uninit() }; 2 * INLINE] }
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
        let walked = walk_to((to_shape, to_strides), (shape, strides))?;
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
        let mut heap = Vec::new();
        let reserved = heap.try_reserve_exact(numbers);
        let bytes = numbers.saturating_mul(size_of::<i64>());
        reserved.map_err(|_| Error::OutOfMemory { bytes })?;
        heap.resize_with(numbers, MaybeUninit::uninit);
        self.heap = Some(heap.into_boxed_slice());
        let walked = walk_to(self.halves_mut(), (shape, strides));
        if walked.is_ok() {
            self.ndim = shape.len();
        }
        Ok(walked)
    }

    /// Copies the first `left` extents and strides; [`walk`](Self::walk) or
    /// [`walk_on_heap`](Self::walk_on_heap) has copied the others.
    #[inline]
    pub(super) fn copy(&mut self, shape: &[i64], strides: Option<&[i64]>, left: usize) {
        let (to_shape, to_strides) = self.halves_mut();
        copy_to(to_shape, shape, left);
        if let Some(strides) = strides {
            copy_to(to_strides, strides, left);
        } else {
            // Strides of a contiguous row-major tensor, computed from the
            // copied shape, so the strides must be initialized before.
            for to in to_strides {
                to.write(0);
            }
            self.ndim = shape.len();
            let mut row_major = [0; MAX_NDIM];
            strides::row_major_strides(self.shape(), &mut row_major);
            copy_to(self.halves_mut().1, &row_major, shape.len());
        }
        self.ndim = shape.len();
    }

    /// Extents.
    #[inline(always)]
    pub(super) fn shape(&self) -> &[i64] {
        self.initialized(self.halves().0)
    }

    /// Strides.
    #[inline(always)]
    pub(super) fn strides(&self) -> &[i64] {
        self.initialized(self.halves().1)
    }

    /// The room for the shape, and the room for the strides.
    #[inline(always)]
    fn halves(&self) -> (&[MaybeUninit<i64>], &[MaybeUninit<i64>]) {
        match &self.heap {
            None => self.inline.split_at(INLINE),
            Some(heap) => heap.split_at(heap.len() / 2),
        }
    }

    /// As [`halves`](Self::halves), for writing.
    #[inline(always)]
    fn halves_mut(&mut self) -> (&mut [MaybeUninit<i64>], &mut [MaybeUninit<i64>]) {
        match &mut self.heap {
            None => self.inline.split_at_mut(INLINE),
            Some(heap) => heap.split_at_mut(heap.len() / 2),
        }
    }

    /// The `ndim` numbers of one of the [`halves`](Self::halves).
    #[inline(always)]
    fn initialized<'a>(&self, half: &'a [MaybeUninit<i64>]) -> &'a [i64] {
        let ndim = self.ndim.min(half.len());
        // SAFETY: by the invariant the first `ndim` numbers of a half are initialized, and
        // `ndim` is at most its length.
        unsafe { slice::from_raw_parts(half.as_ptr().cast(), ndim) }
    }
}

/// Copies shape and strides to lists that are at least as long, last axis first, and
/// validates them; see [`ImportedDims::walk`].
#[inline(always)]
fn walk_to(
    (to_shape, to_strides): (&mut [MaybeUninit<i64>], &mut [MaybeUninit<i64>]),
    (shape, strides): (&[i64], Option<&[i64]>),
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
            to_dim.write(dim);
            to_stride.write(stride);
            step(dim, stride).ok_or(axis)?;
        }
    } else {
        let mut stride = 1;
        for ((axis, (to_dim, to_stride)), dim) in to.zip(shape).rev() {
            let dim = read_once(dim);
            to_dim.write(dim);
            to_stride.write(stride);
            stride = step(dim, stride).ok_or(axis)?;
        }
    }
    Ok((numel, reach))
}

/// Copies the first `left` numbers of a list.
#[inline(always)]
fn copy_to(to: &mut [MaybeUninit<i64>], numbers: &[i64], left: usize) {
    to.iter_mut().zip(numbers).take(left).for_each(|(to, number)| _ = to.write(read_once(number)));
}

/// Reads a number of a foreign array by exactly one load. The compiler may turn an ordinary read
/// into two, and did in release builds.
#[inline(always)]
fn read_once(number: &i64) -> i64 {
    // SAFETY: `number` is a reference to an initialized number.
    unsafe { (&raw const *number).read_volatile() }
}
