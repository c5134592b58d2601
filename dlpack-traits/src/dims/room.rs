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
/// type. So what says that a room was filled ([`Compact`]) says it of that one.
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
    pub(crate) fn fill<I: Dim>(self, shape: &[I]) -> Option<Compact<'r>> {
        self.fill_with(shape, |dim| dim.to_i64())
    }

    /// [`fill`](Self::fill) with anything that a dimension can be made of.
    #[inline(always)]
    pub(crate) fn fill_with<I>(
        self,
        shape: &[I],
        dim: impl Fn(&I) -> Option<i64>,
    ) -> Option<Compact<'r>> {
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
        Some(Compact { room: PhantomData, only: PhantomData, ndim, numel: step })
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
pub struct Compact<'r> {
    room: PhantomData<&'r mut Space>,
    only: Only<'r>,
    /// Number of dimensions.
    pub(crate) ndim: usize,
    /// Number of elements, at least one.
    pub(crate) numel: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_says_its_name() {
        let mut space = Space([MaybeUninit::uninit(); 2 * CAPACITY]);
        assert_eq!(alloc::format!("{:?}", space.room()), "Room");
    }
}
