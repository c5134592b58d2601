//! Where the dimensions of a compact tensor are written, once, to be read by
//! its consumer: [`Room`].

use core::fmt;
use core::marker::PhantomData;
use core::mem::MaybeUninit;

use super::Dim;

/// Dimensions for which a packet has room.
const CAPACITY: usize = 8;

/// Room for shape and strides of up to 8 dimensions: a part of a packet.
pub struct Room([MaybeUninit<i64>; 2 * CAPACITY]);

impl Room {
    /// Dimensions that fit.
    pub(crate) const CAPACITY: usize = CAPACITY;

    /// Writes a shape and its row-major strides behind it.
    ///
    /// `None` leaves it to a description that can say everything: it does not fit, or
    /// is no shape.
    #[inline(always)]
    pub(crate) fn fill<I: Dim>(&mut self, shape: &[I]) -> Option<Compact<'_>> {
        self.fill_with(shape, |dim| dim.to_i64())
    }

    /// [`fill`](Self::fill) with anything that a dimension can be made of.
    #[inline(always)]
    pub(crate) fn fill_with<I>(
        &mut self,
        shape: &[I],
        dim: impl Fn(&I) -> Option<i64>,
    ) -> Option<Compact<'_>> {
        let ndim = shape.len();
        if ndim > CAPACITY {
            return None;
        }
        let (dims, strides) = self.0.split_at_mut(ndim);
        let mut step = 1_i64;
        let mut empty = false;
        for ((to, stride), from) in dims.iter_mut().zip(strides).zip(shape).rev() {
            let dim = dim(from).filter(|&dim| dim >= 0)?;
            to.write(dim);
            stride.write(step);
            step = step.checked_mul(dim.max(1))?;
            empty |= dim == 0;
        }
        let numel = if empty { 0 } else { step };
        Some(Compact { room: PhantomData, ndim, numel })
    }
}

impl fmt::Debug for Room {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Room")
    }
}

/// What is known of a shape that was written into a [`Room`], to which nobody
/// writes while this lives.
#[derive(Debug)]
pub struct Compact<'r> {
    room: PhantomData<&'r mut Room>,
    /// Number of dimensions.
    pub(crate) ndim: usize,
    /// Number of elements.
    pub(crate) numel: i64,
}
