//! Where the dimensions of a compact tensor are written, once, to be read by
//! its consumer: [`Space`], through the one [`Room`] that is lent of it.

use core::fmt;
use core::marker::PhantomData;
use core::mem::MaybeUninit;

use super::Dim;

/// Dimensions for which a packet has room.
const CAPACITY: usize = 8;

/// Shape and strides of up to 8 dimensions: a part of a packet. Its address is that of
/// the first number.
#[repr(transparent)]
pub(crate) struct Space([MaybeUninit<i64>; 2 * CAPACITY]);

impl Space {
    /// Dimensions that fit.
    pub(crate) const CAPACITY: usize = CAPACITY;

    /// Room in which nothing was written.
    pub(crate) const fn new() -> Self {
        Self([const { MaybeUninit::uninit() }; 2 * CAPACITY])
    }

    /// The right to write them, once.
    #[inline(always)]
    pub(crate) fn room(&mut self) -> Room<'_> {
        Room { space: self, only: PhantomData }
    }
}

/// Room for shape and strides in the packet of one export.
///
/// Its lifetime is no longer and no shorter than it says: code that is asked for a
/// tensor for any `'r` at all has one room of that `'r`, its own. The room of
/// another export, from inside of which it may have been called, is of another
/// type. So what says that a room was filled ([`Filled`]) says it of that one.
pub struct Room<'r> {
    space: &'r mut Space,
    only: Only<'r>,
}

/// Neither longer nor shorter.
type Only<'r> = PhantomData<fn(&'r ()) -> &'r ()>;

impl<'r> Room<'r> {
    /// Writes a shape and its row-major strides behind it.
    ///
    /// `None` leaves it to a description that can say everything: it does not fit, has
    /// no elements, or is no shape.
    #[inline(always)]
    pub(crate) fn fill<I: Dim>(self, shape: &[I]) -> Option<Filled<'r>> {
        self.fill_with(shape, |dim| dim.to_i64())
    }

    /// [`fill`](Self::fill) with anything that a dimension can be made of.
    #[inline(always)]
    pub(crate) fn fill_with<I>(
        self,
        shape: &[I],
        dim: impl Fn(&I) -> Option<i64>,
    ) -> Option<Filled<'r>> {
        let ndim = shape.len();
        if ndim > CAPACITY {
            return None;
        }
        let (dims, strides) = self.space.0.split_at_mut(ndim);
        let mut step = 1_i64;
        for ((to, stride), from) in dims.iter_mut().zip(strides).zip(shape).rev() {
            let dim = dim(from).filter(|&dim| dim >= 1)?;
            to.write(dim);
            stride.write(step);
            step = step.checked_mul(dim)?;
        }
        Some(Filled { room: PhantomData, only: PhantomData, ndim, numel: step, reach: step })
    }

    /// Writes a shape, and strides in elements behind it.
    ///
    /// `None` as for [`fill`](Self::fill), and where a step is negative, or not longer than
    /// all that the axes behind it reach: then elements may share memory.
    #[inline(always)]
    pub(crate) fn fill_strided(self, shape: &[i64], strides: &[i64]) -> Option<Filled<'r>> {
        let ndim = shape.len();
        if ndim > CAPACITY || ndim != strides.len() {
            return None;
        }
        let (to_shape, to_strides) = self.space.0.split_at_mut(ndim);
        let to = to_shape.iter_mut().zip(to_strides);
        let (mut numel, mut last) = (1_i64, 0_i64);
        for ((to, to_stride), (&dim, &stride)) in to.zip(shape.iter().zip(strides)).rev() {
            if dim < 1 || (dim > 1 && stride <= last) {
                return None;
            }
            to.write(dim);
            to_stride.write(stride);
            numel = numel.checked_mul(dim)?;
            last = last.checked_add(dim.wrapping_sub(1).checked_mul(stride)?)?;
        }
        let reach = last.checked_add(1)?;
        Some(Filled { room: PhantomData, only: PhantomData, ndim, numel, reach })
    }
}

impl fmt::Debug for Room<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Room")
    }
}

/// What is known of a shape that was written into the [`Room`] of that lifetime,
/// to which nobody writes while this lives.
#[derive(Debug)]
pub struct Filled<'r> {
    room: PhantomData<&'r mut Space>,
    only: Only<'r>,
    /// Number of dimensions.
    pub(crate) ndim: usize,
    /// Number of elements, at least one.
    pub(crate) numel: i64,
    /// Elements from the first to the last, with those between that are not the tensor's.
    pub(crate) reach: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_says_its_name() {
        let mut space = Space([MaybeUninit::uninit(); 2 * CAPACITY]);
        assert_eq!(alloc::format!("{:?}", space.room()), "Room");
    }

    /// Elements and reach, if it is written.
    fn strided(shape: &[i64], strides: &[i64]) -> Option<(i64, i64)> {
        let mut space = Space::new();
        let filled = space.room().fill_strided(shape, strides)?;
        assert_eq!(filled.ndim, shape.len());
        Some((filled.numel, filled.reach))
    }

    #[test]
    fn strides_that_keep_elements_apart() {
        assert_eq!(strided(&[], &[]), Some((1, 1)));
        assert_eq!(strided(&[2, 3], &[3, 1]), Some((6, 6)));
        assert_eq!(strided(&[2, 3], &[5, 2]), Some((6, 10)));
        assert_eq!(strided(&[2, 1, 3], &[3, -7, 1]), Some((6, 6)));
        assert_eq!(strided(&[2; 8], &[128, 64, 32, 16, 8, 4, 2, 1]), Some((256, 256)));
        for (shape, strides) in [
            (&[2, 3][..], &[2, 1][..]), // some twice
            (&[2, 3], &[1, 2]),         // apart, but in another order
            (&[3], &[0]),
            (&[3], &[-1]),
            (&[0], &[1]),
            (&[-1], &[1]),
            (&[2], &[1, 1]),
            (&[2; 9], &[256, 128, 64, 32, 16, 8, 4, 2, 1]),
            (&[2], &[i64::MAX]), // one more than there are numbers
            (&[3], &[i64::MAX]),
            (&[2, 2], &[i64::MAX, 1]),
        ] {
            assert_eq!(strided(shape, strides), None, "{shape:?} {strides:?}");
        }
    }
}
