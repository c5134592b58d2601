//! Shape and strides of a foreign tensor, copied once: [`Axes`].

use alloc::vec::Vec;

use crate::error::Error;
use crate::layout;

/// Dimensions that are kept in place.
const INLINE: usize = 8;

/// As many extents as strides, in elements: in place up to 8, on the heap beyond.
///
/// They are filled where they are to stay. To move lists that were just written costs
/// more than to check them.
#[derive(Debug)]
pub(super) struct Axes {
    ndim: usize,
    shape: [i64; INLINE],
    strides: [i64; INLINE],
    /// Both, one after the other; empty where they are in place.
    heap: Vec<i64>,
}

impl Axes {
    /// Those of a tensor without dimensions.
    #[inline(always)]
    pub(super) const fn none() -> Self {
        Self { ndim: 0, shape: [0; INLINE], strides: [0; INLINE], heap: Vec::new() }
    }

    /// The room for shape and strides of so many dimensions, which are zeros.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`], possible only beyond 8 dimensions.
    #[inline(always)]
    pub(super) fn room(&mut self, ndim: usize) -> Result<(&mut [i64], &mut [i64]), Error> {
        self.ndim = ndim;
        if ndim > INLINE {
            self.spill(ndim)?;
        }
        Ok(self.both_mut())
    }

    #[cold]
    fn spill(&mut self, ndim: usize) -> Result<(), Error> {
        let len = ndim.saturating_mul(2);
        let bytes = len.saturating_mul(size_of::<i64>());
        self.heap.try_reserve_exact(len).map_err(|_| Error::OutOfMemory { bytes })?;
        self.heap.resize(len, 0);
        Ok(())
    }

    #[inline(always)]
    fn both_mut(&mut self) -> (&mut [i64], &mut [i64]) {
        let Self { ndim, shape, strides, heap } = self;
        if *ndim <= INLINE {
            let shape = shape.get_mut(..*ndim).unwrap_or_default();
            (shape, strides.get_mut(..*ndim).unwrap_or_default())
        } else {
            heap.split_at_mut_checked(*ndim).unwrap_or_default()
        }
    }

    /// Makes the strides those of a compact tensor in row-major order.
    pub(super) fn fill_strides(&mut self) {
        let (shape, strides) = self.both_mut();
        layout::row_major_strides(shape, strides);
    }

    /// Extents.
    #[inline(always)]
    pub(super) fn shape(&self) -> &[i64] {
        if self.ndim <= INLINE {
            self.shape.get(..self.ndim).unwrap_or_default()
        } else {
            self.heap.get(..self.ndim).unwrap_or_default()
        }
    }

    /// Strides.
    #[inline(always)]
    pub(super) fn strides(&self) -> &[i64] {
        if self.ndim <= INLINE {
            self.strides.get(..self.ndim).unwrap_or_default()
        } else {
            self.heap.get(self.ndim..).unwrap_or_default()
        }
    }

    /// The number of elements, if there are some, and they lie one after the other in
    /// row-major order, as they nearly always do. `None` says nothing.
    #[inline(always)]
    pub(super) fn compact(&self) -> Option<i64> {
        let mut step = 1_i64;
        for (&dim, &stride) in self.shape().iter().zip(self.strides()).rev() {
            // An axis of one element may have any stride.
            if dim < 1 || (stride != step && dim != 1) {
                return None;
            }
            step = step.checked_mul(dim)?;
        }
        Some(step)
    }
}
