//! Shapes and strides as Rust types hold them: [`AsDims`], [`Dims`].

mod room;

pub(crate) use room::Space;
pub use room::{Compact, Room};

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::error::Error;

/// Dimensions kept inside a [`Dims`] without an allocation.
const INLINE: usize = 8;

/// Dimensions or strides as the `i64`s that DLPack stores.
///
/// They are borrowed where the source already holds such numbers, kept in
/// place up to 8 of them, and on the heap beyond that.
#[derive(Debug)]
pub struct Dims<'a>(Repr<'a>);

#[derive(Debug)]
enum Repr<'a> {
    Borrowed(&'a [i64]),
    Inline { len: usize, dims: [i64; INLINE] },
    Heap(Vec<i64>),
}

impl<'a> Dims<'a> {
    /// Dimensions that are borrowed as they are.
    #[inline]
    pub const fn borrowed(dims: &'a [i64]) -> Self {
        Self(Repr::Borrowed(dims))
    }

    /// `len` dimensions, to be filled in by `fill`, which is given zeros.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`], possible only beyond 8 dimensions, and what
    /// `fill` returns.
    #[inline(always)]
    pub(crate) fn filled(
        len: usize,
        fill: impl FnOnce(&mut [i64]) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        // Filled where it is: a list that is moved afterwards costs more than
        // what fills it.
        let mut dims = Self(Repr::Inline { len, dims: [0; INLINE] });
        if let Repr::Inline { dims: inline, .. } = &mut dims.0 {
            if let Some(inline) = inline.get_mut(..len) {
                fill(inline)?;
                return Ok(dims);
            }
        }
        let mut heap = Vec::new();
        heap.try_reserve_exact(len)
            .map_err(|_| Error::OutOfMemory { bytes: len.saturating_mul(size_of::<i64>()) })?;
        heap.resize(len, 0);
        fill(&mut heap)?;
        Ok(Self(Repr::Heap(heap)))
    }

    /// The row-major strides of a tensor of few dimensions, and its number of elements.
    /// `None` leaves it to a loop: there are more, or it has no elements, or is none.
    ///
    /// A list whose places are chosen by a loop has to be in memory, and what moves it
    /// from there waits for all that was written.
    #[inline(always)]
    pub(crate) fn few_strides(shape: &[i64]) -> Option<(Self, i64)> {
        let [a, b, c, d] = match *shape {
            [] => [1, 1, 1, 1],
            [d] => [1, 1, 1, d],
            [c, d] => [1, 1, c, d],
            [b, c, d] => [1, b, c, d],
            [a, b, c, d] => [a, b, c, d],
            _ => return None,
        };
        if a < 1 || b < 1 || c < 1 || d < 1 {
            return None;
        }
        let matrix = c.checked_mul(d)?;
        let cube = b.checked_mul(matrix)?;
        let numel = a.checked_mul(cube)?;
        let [first, second, third, fourth] = match shape.len() {
            0 => [0, 0, 0, 0],
            1 => [1, 0, 0, 0],
            2 => [d, 1, 0, 0],
            3 => [matrix, d, 1, 0],
            _ => [cube, matrix, d, 1],
        };
        let dims = [first, second, third, fourth, 0, 0, 0, 0];
        Some((Self(Repr::Inline { len: shape.len(), dims }), numel))
    }

    /// The numbers, if they are borrowed, for as long as they are.
    #[inline]
    pub(crate) const fn as_borrowed(&self) -> Option<&'a [i64]> {
        match self.0 {
            Repr::Borrowed(dims) => Some(dims),
            Repr::Inline { .. } | Repr::Heap(_) => None,
        }
    }

    /// Keeps the first `len` numbers.
    ///
    /// # Errors
    ///
    /// [`Error::RankBeyondCapacity`] if there are fewer.
    #[inline]
    pub(crate) fn truncate(&mut self, len: i64) -> Result<(), Error> {
        let capacity = self.as_slice().len();
        let Some(len) = usize::try_from(len).ok().filter(|&len| len <= capacity) else {
            return Err(Error::RankBeyondCapacity { ndim: len, capacity });
        };
        match &mut self.0 {
            Repr::Borrowed(dims) => *dims = dims.get(..len).unwrap_or_default(),
            Repr::Inline { len: kept, .. } => *kept = len,
            Repr::Heap(dims) => dims.truncate(len),
        }
        Ok(())
    }

    /// The numbers.
    #[inline(always)]
    pub fn as_slice(&self) -> &[i64] {
        match &self.0 {
            Repr::Borrowed(dims) => dims,
            Repr::Inline { len, dims } => dims.get(..*len).unwrap_or_default(),
            Repr::Heap(dims) => dims,
        }
    }
}

/// An integer that can be a dimension or a stride: every integer type of Rust.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a dimension or a stride of a tensor",
    label = "not an integer",
    note = "every integer type can be, such as `usize` or `i64`"
)]
pub trait Dim: Copy + sealed::Sealed {
    /// The number 0.
    #[doc(hidden)]
    const ZERO: Self;

    /// The number as DLPack stores it, if it fits.
    #[doc(hidden)]
    fn to_i64(self) -> Option<i64>;

    /// That number, if it fits.
    #[doc(hidden)]
    fn from_i64(number: i64) -> Option<Self>;

    /// The numbers as they are, if they have the memory of `i64`s.
    #[doc(hidden)]
    #[inline]
    fn borrow(dims: &[Self]) -> Option<&[i64]> {
        let _ = dims;
        None
    }
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! dims {
    ($($int:ty),+ $(,)?) => {$(
        impl sealed::Sealed for $int {}
        impl Dim for $int {
            const ZERO: Self = 0;

            #[inline]
            fn to_i64(self) -> Option<i64> {
                i64::try_from(self).ok()
            }

            #[inline]
            fn from_i64(number: i64) -> Option<Self> {
                Self::try_from(number).ok()
            }
        }
    )+};
}

/// Integers of 64 bits: a borrowed slice of them is a slice of `i64`, if no
/// `usize` is among them that would turn negative.
macro_rules! dims_as_they_are {
    ($($int:ty),+ $(,)?) => {$(
        impl sealed::Sealed for $int {}
        impl Dim for $int {
            const ZERO: Self = 0;

            #[inline]
            fn to_i64(self) -> Option<i64> {
                i64::try_from(self).ok()
            }

            #[inline]
            fn from_i64(number: i64) -> Option<Self> {
                Self::try_from(number).ok()
            }

            #[inline]
            fn borrow(dims: &[Self]) -> Option<&[i64]> {
                let fit = dims.iter().all(|dim| dim.to_i64().is_some());
                if fit { bytemuck::try_cast_slice(dims).ok() } else { None }
            }
        }
    )+};
}

dims!(i8, i16, i32, i128, u8, u16, u32, u64, u128);
dims_as_they_are!(i64);
#[cfg(target_pointer_width = "64")]
dims_as_they_are!(isize, usize);
#[cfg(not(target_pointer_width = "64"))]
dims!(isize, usize);

/// A field that can be the `shape` or the `strides` of a tensor: a list of
/// integers of any type.
///
/// ```
/// use dlpack_traits::AsDims;
///
/// let shape: Vec<u32> = vec![2, 3];
/// assert_eq!(shape.as_dims()?.as_slice(), [2, 3]);
/// assert!([u64::MAX].as_dims().is_err());
/// # Ok::<(), dlpack_traits::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the `shape` or `strides` of a tensor",
    label = "not a list of integers",
    note = "use an array, `Vec`, `Box` or `Arc` of integers, such as `[usize; 3]` or `Vec<i64>`"
)]
pub trait AsDims {
    /// The numbers, in the order of the axes.
    ///
    /// # Errors
    ///
    /// [`Error::DimTooLarge`] when one does not fit in 64 signed bits. Of strides
    /// [`Layout`](crate::Layout) makes that [`Error::StrideTooLarge`].
    fn as_dims(&self) -> Result<Dims<'_>, Error>;

    /// Writes them into a packet as the shape of a compact tensor. `None` where
    /// that takes more than writing them down.
    #[doc(hidden)]
    #[inline]
    fn compact_in<'r>(&self, room: Room<'r>) -> Option<Compact<'r>> {
        room.fill(self.as_dims().ok()?.as_slice())
    }
}

impl<I: Dim> AsDims for [I] {
    #[inline]
    fn as_dims(&self) -> Result<Dims<'_>, Error> {
        if let Some(dims) = I::borrow(self) {
            return Ok(Dims::borrowed(dims));
        }
        Dims::filled(self.len(), |dims| {
            for (axis, (to, from)) in dims.iter_mut().zip(self).enumerate() {
                *to = from.to_i64().ok_or(Error::DimTooLarge { axis })?;
            }
            Ok(())
        })
    }

    #[inline(always)]
    fn compact_in<'r>(&self, room: Room<'r>) -> Option<Compact<'r>> {
        room.fill(self)
    }
}

impl<I: Dim, const N: usize> AsDims for [I; N] {
    #[inline]
    fn as_dims(&self) -> Result<Dims<'_>, Error> {
        self.as_slice().as_dims()
    }

    #[inline(always)]
    fn compact_in<'r>(&self, room: Room<'r>) -> Option<Compact<'r>> {
        room.fill(self)
    }
}

impl<I: Dim> AsDims for Vec<I> {
    #[inline]
    fn as_dims(&self) -> Result<Dims<'_>, Error> {
        self.as_slice().as_dims()
    }

    #[inline(always)]
    fn compact_in<'r>(&self, room: Room<'r>) -> Option<Compact<'r>> {
        room.fill(self)
    }
}

impl AsDims for Dims<'_> {
    #[inline]
    fn as_dims(&self) -> Result<Dims<'_>, Error> {
        Ok(Dims::borrowed(self.as_slice()))
    }
}

/// Pointers to a list of integers are such lists too.
macro_rules! through_pointers {
    ($($pointer:ty),+) => {$(
        impl<D: AsDims + ?Sized> AsDims for $pointer {
            #[inline]
            fn as_dims(&self) -> Result<Dims<'_>, Error> {
                (**self).as_dims()
            }

            #[inline(always)]
            fn compact_in<'r>(&self, room: Room<'r>) -> Option<Compact<'r>> {
                (**self).compact_in(room)
            }
        }
    )+};
}

through_pointers!(&D, Box<D>, Arc<D>);

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    #[test]
    fn wide_integers_are_borrowed_and_narrow_ones_converted() {
        let wide = [1_usize, 2];
        assert!(matches!(wide.as_dims().unwrap().0, Repr::Borrowed(_)));
        let narrow = [1_u8, 2];
        assert!(matches!(narrow.as_dims().unwrap().0, Repr::Inline { len: 2, .. }));
        let many = vec![1_u16; 9];
        assert!(matches!(many.as_dims().unwrap().0, Repr::Heap(_)));
        assert_eq!(many.as_dims().unwrap().as_slice(), [1; 9]);
    }

    /// Strides that are multiplied at once are those of a loop.
    #[test]
    fn strides_of_few_dimensions() {
        fn check(shape: &[i64]) {
            let mut strides = [0; 5];
            let strides = &mut strides[..shape.len()];
            crate::layout::row_major_strides(shape, strides);
            let numel = crate::layout::numel(shape).ok().filter(|&numel| numel != 0);
            let expected = numel.filter(|_| shape.len() <= 4).map(|numel| (&*strides, numel));
            let found = Dims::few_strides(shape);
            assert_eq!(
                found.as_ref().map(|(dims, n)| (dims.as_slice(), *n)),
                expected,
                "{shape:?}"
            );
        }
        fn every(shape: &mut [i64; 5], len: usize) {
            check(&shape[..len]);
            if len < 5 {
                for dim in [-1, 0, 1, 2, 3, 1 << 31, i64::MAX] {
                    shape[len] = dim;
                    every(shape, len + 1);
                }
            }
        }
        every(&mut [0; 5], 0);
    }

    #[test]
    fn numbers_that_do_not_fit_are_named() {
        assert_eq!([1, u64::MAX].as_dims().unwrap_err(), Error::DimTooLarge { axis: 1 });
        assert_eq!([i128::MIN].as_dims().unwrap_err(), Error::DimTooLarge { axis: 0 });
        assert_eq!([1, usize::MAX].as_dims().unwrap_err(), Error::DimTooLarge { axis: 1 });
    }

    #[test]
    fn every_pointer_is_a_list() {
        let arc: Arc<[i32]> = Arc::new([3, 4]);
        assert_eq!(arc.as_dims().unwrap().as_slice(), [3, 4]);
        let boxed: Box<[isize]> = Box::new([-3, 4]);
        assert_eq!((&&boxed).as_dims().unwrap().as_slice(), [-3, 4]);
    }
}
