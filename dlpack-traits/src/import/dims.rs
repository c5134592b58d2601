//! Shape and strides of an imported tensor: [`Dims`].

use alloc::vec::Vec;
use core::mem::MaybeUninit;
use core::slice;

use crate::describe::Reach;
use crate::error::Error;
use crate::strides::{self, MAX_NDIM};

/// The maximum number of dimensions that are stored inline.
const INLINE: usize = 8;

/// Shape and strides, each number copied once: inline up to 8 dimensions, in one heap
/// allocation beyond.
///
/// Invariant: if `heap` is empty, the first `ndim` numbers of each half of `inline` are
/// initialised.
pub(super) struct Dims {
    ndim: usize,
    /// The shape, then the strides, of more dimensions than fit inline.
    heap: Vec<i64>,
    /// One half for the shape, one half for the strides. Not zeroed: zeroing takes longer
    /// than filling four of them.
    inline: [MaybeUninit<i64>; 2 * INLINE],
}

impl Dims {
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
    ) -> Result<(i64, Reach), usize> {
        let ndim = shape.len();
        let (to_shape, to_strides) = self.inline.split_at_mut(INLINE);
        let (Some(to_shape), Some(to_strides)) =
            (to_shape.get_mut(..ndim), to_strides.get_mut(..ndim))
        else {
            return Err(ndim);
        };
        let to = to_shape.iter_mut().zip(to_strides).enumerate();
        let (mut numel, mut reach) = (1_i64, Reach::of_contiguous(1));
        let mut step = |dim: i64, stride: i64| {
            reach.step(dim, stride).filter(|()| dim > 0)?;
            numel = numel.checked_mul(dim)?;
            Some(numel)
        };
        if let Some(strides) = strides.and_then(|strides| strides.get(..ndim)) {
            for ((axis, (to_dim, to_stride)), (&dim, &stride)) in
                to.zip(shape.iter().zip(strides)).rev()
            {
                to_dim.write(dim);
                to_stride.write(stride);
                step(dim, stride).ok_or(axis)?;
            }
        } else {
            let mut stride = 1;
            for ((axis, (to_dim, to_stride)), &dim) in to.zip(shape).rev() {
                to_dim.write(dim);
                to_stride.write(stride);
                stride = step(dim, stride).ok_or(axis)?;
            }
        }
        self.ndim = ndim;
        Ok((numel, reach))
    }

    /// Copies the first `left` extents and strides; [`walk`](Self::walk) has copied the
    /// others.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`], possible only beyond 8 dimensions.
    #[cold]
    pub(super) fn copy(
        &mut self,
        shape: &[i64],
        strides: Option<&[i64]>,
        left: usize,
    ) -> Result<(), Error> {
        let ndim = shape.len();
        if ndim > INLINE {
            let bytes = size_of_val(shape).saturating_mul(2);
            let room = self.heap.try_reserve_exact(ndim.saturating_mul(2));
            room.map_err(|_| Error::OutOfMemory { bytes })?;
            self.heap.extend_from_slice(shape);
            match strides {
                Some(strides) => self.heap.extend_from_slice(strides),
                None => self.heap.resize(ndim.saturating_mul(2), 0),
            }
        } else {
            let (to_shape, to_strides) = self.inline.split_at_mut(INLINE);
            for (to, &dim) in to_shape.iter_mut().zip(shape).take(left) {
                to.write(dim);
            }
            for (axis, to) in to_strides.iter_mut().enumerate().take(left) {
                to.write(strides.and_then(|strides| strides.get(axis)).map_or(0, |&it| it));
            }
        }
        self.ndim = ndim;
        if strides.is_none() {
            self.fill_strides();
        }
        Ok(())
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
        // SAFETY: by the invariant `ndim` numbers are initialised from 0 and from `INLINE`
        // on, and `ndim` is at most the length of `numbers`.
        unsafe { slice::from_raw_parts(numbers.as_ptr().cast(), ndim) }
    }
}
