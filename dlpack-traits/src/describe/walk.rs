//! The one pass over shape and strides, of exports and of imports: [`Walk`].

use core::mem::MaybeUninit;

/// What a pass over the axes of a tensor with elements computes, in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Walk {
    /// Number of elements, at least 1.
    pub(crate) numel: i64,
    /// Lowest element, counted from the first: 0 or negative.
    pub(crate) low: i64,
    /// Highest element: 0 or positive.
    pub(crate) high: i64,
    /// Whether the axes are sorted by their strides, each of which is larger than what
    /// the axes behind it span. Then no two indices name one element. `false` proves
    /// nothing.
    pub(crate) apart: bool,
    /// Whether the elements are contiguous in row-major order.
    pub(crate) contiguous: bool,
}

impl Walk {
    /// Elements before the first one.
    #[inline(always)]
    #[expect(clippy::cast_sign_loss, reason = "`low` is not positive")]
    pub(crate) const fn below(&self) -> u64 {
        0_i64.wrapping_sub(self.low) as u64
    }

    /// Elements from the first one to the highest, both included.
    #[inline(always)]
    #[expect(clippy::cast_sign_loss, reason = "`high` is not negative")]
    pub(crate) const fn above(&self) -> u64 {
        (self.high as u64).wrapping_add(1)
    }

    /// Writes the strides of a contiguous row-major tensor.
    ///
    /// `None` if a dimension is less than 1 or if the number of elements does not fit in
    /// 64 bits: the caller then uses the exact arithmetic of [`layout`](crate::layout).
    #[inline(always)]
    pub(crate) fn row_major(shape: &[i64], strides: &mut [MaybeUninit<i64>]) -> Option<Self> {
        let mut numel = 1_i64;
        for (&dim, stride) in shape.iter().zip(strides).rev() {
            if dim < 1 {
                return None;
            }
            stride.write(numel);
            numel = numel.checked_mul(dim)?;
        }
        // It is at least 1.
        let high = numel.wrapping_sub(1);
        Some(Self { numel, low: 0, high, apart: true, contiguous: true })
    }

    /// Reads explicit strides, as many as dimensions.
    ///
    /// `None` as for [`row_major`](Self::row_major), and if an extent does not fit.
    #[inline(always)]
    pub(crate) fn strided(shape: &[i64], strides: &[i64]) -> Option<Self> {
        let mut it = Self { numel: 1, low: 0, high: 0, apart: true, contiguous: true };
        for (&dim, &stride) in shape.iter().zip(strides).rev() {
            if dim < 1 {
                return None;
            }
            let last = dim.wrapping_sub(1).checked_mul(stride)?;
            // If this wraps, the difference at the end does not fit either.
            let spanned = it.high.wrapping_sub(it.low).unsigned_abs();
            it.apart &= dim == 1 || stride.unsigned_abs() > spanned;
            it.contiguous &= dim == 1 || stride == it.numel;
            if last < 0 {
                it.low = it.low.checked_add(last)?;
            } else {
                it.high = it.high.checked_add(last)?;
            }
            it.numel = it.numel.checked_mul(dim)?;
        }
        it.high.checked_sub(it.low)?;
        Some(it)
    }
}
