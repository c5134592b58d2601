//! Shapes and strides as Rust types store them: [`AsDims`], [`Dims`].

mod int;

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::error::Error;

pub use int::Dim;
pub(crate) use int::Ints;

/// Maximum number of dimensions that a [`Dims`] stores without an allocation.
const INLINE: usize = 8;

/// Shape or strides as the `i64`s that DLPack uses.
///
/// They are borrowed if the source stores such numbers, stored inline up to 8 of them, and
/// on the heap beyond 8.
#[derive(Debug)]
pub struct Dims<'a>(Repr<'a>);

#[derive(Debug)]
enum Repr<'a> {
    Borrowed(&'a [i64]),
    Inline { len: usize, dims: [i64; INLINE] },
    Heap(Vec<i64>),
}

impl<'a> Dims<'a> {
    /// Borrows dimensions.
    #[inline]
    pub const fn borrowed(dims: &'a [i64]) -> Self {
        Self(Repr::Borrowed(dims))
    }

    /// Converts the numbers of a list; borrows them if they have the memory layout of
    /// `i64`s.
    ///
    /// # Errors
    ///
    /// [`Error::DimTooLarge`] if a number does not fit in 64 signed bits, and
    /// [`Error::OutOfMemory`], possible only beyond 8 numbers.
    #[inline]
    pub fn of<D: AsDims + ?Sized>(list: &'a D) -> Result<Self, Error> {
        let list = list.as_dims();
        if let Some(dims) = D::Dim::borrow(list) {
            return Ok(Self::borrowed(dims));
        }
        Self::copied(list.iter().map(|dim| dim.to_i64()))
    }

    /// Copies numbers.
    ///
    /// # Errors
    ///
    /// Those of [`of`](Self::of), with the axis of the number that does not fit.
    #[inline(always)]
    pub(crate) fn copied(
        numbers: impl ExactSizeIterator<Item = Option<i64>>,
    ) -> Result<Self, Error> {
        Self::filled(numbers.len(), |dims| {
            for (axis, (to, from)) in dims.iter_mut().zip(numbers).enumerate() {
                *to = from.ok_or(Error::DimTooLarge { axis })?;
            }
            Ok(())
        })
    }

    /// Creates `len` dimensions, which `fill` writes; they are initially 0.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`], possible only beyond 8 dimensions, and the errors of `fill`.
    #[inline(always)]
    pub(crate) fn filled(
        len: usize,
        fill: impl FnOnce(&mut [i64]) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        // Filled in its final place: moving the list afterwards costs more than filling it.
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

    /// One dimension.
    #[inline]
    pub(crate) const fn one(dim: i64) -> Self {
        let mut dims = [0; INLINE];
        dims[0] = dim;
        Self(Repr::Inline { len: 1, dims })
    }

    /// The numbers, copied if they are borrowed.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`], possible only beyond 8 dimensions.
    pub(crate) fn into_owned(self) -> Result<Dims<'static>, Error> {
        Ok(Dims(match self.0 {
            Repr::Borrowed(dims) => return Dims::copied(dims.iter().map(|&dim| Some(dim))),
            Repr::Inline { len, dims } => Repr::Inline { len, dims },
            Repr::Heap(dims) => Repr::Heap(dims),
        }))
    }

    /// The numbers, with the lifetime of the borrow; `None` if they are not borrowed.
    #[inline]
    pub(crate) const fn as_borrowed(&self) -> Option<&'a [i64]> {
        match self.0 {
            Repr::Borrowed(dims) => Some(dims),
            Repr::Inline { .. } | Repr::Heap(_) => None,
        }
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

/// A field that can be the `shape` or the `strides` of a tensor: a list of integers of any
/// type.
///
/// ```
/// use dlpack_traits::AsDims;
///
/// /// A list of which only the first `ndim` numbers are used.
/// struct Extents {
///     numbers: [u32; 8],
///     ndim: usize,
/// }
///
/// impl AsDims for Extents {
///     type Dim = u32;
///
///     fn as_dims(&self) -> &[u32] {
///         &self.numbers[..self.ndim]
///     }
/// }
///
/// let shape = Extents { numbers: [2, 3, 0, 0, 0, 0, 0, 0], ndim: 2 };
/// assert_eq!(shape.as_dims(), [2, 3]);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the `shape` or `strides` of a tensor",
    label = "not a list of integers",
    note = "use an array, `Vec`, `Box` or `Arc` of integers, such as `[usize; 3]` or `Vec<i64>`",
    note = "for a list of your own, implement `dlpack_traits::AsDims`; for one of another crate, name a function that converts it: `#[dlpack(shape, with = path)]`"
)]
pub trait AsDims {
    /// The type of the numbers.
    type Dim: Dim;

    /// The numbers, in the order of the axes.
    fn as_dims(&self) -> &[Self::Dim];
}

#[diagnostic::do_not_recommend]
impl<I: Dim> AsDims for [I] {
    type Dim = I;

    #[inline(always)]
    fn as_dims(&self) -> &[I] {
        self
    }
}

#[diagnostic::do_not_recommend]
impl<I: Dim, const N: usize> AsDims for [I; N] {
    type Dim = I;

    #[inline(always)]
    fn as_dims(&self) -> &[I] {
        self
    }
}

#[diagnostic::do_not_recommend]
impl<I: Dim> AsDims for Vec<I> {
    type Dim = I;

    #[inline(always)]
    fn as_dims(&self) -> &[I] {
        self
    }
}

#[diagnostic::do_not_recommend]
impl AsDims for Dims<'_> {
    type Dim = i64;

    #[inline]
    fn as_dims(&self) -> &[i64] {
        self.as_slice()
    }
}

/// A pointer to a list of integers is such a list too.
macro_rules! through_pointers {
    ($($pointer:ty),+) => {$(
        #[diagnostic::do_not_recommend]
        impl<D: AsDims + ?Sized> AsDims for $pointer {
            type Dim = D::Dim;

            #[inline(always)]
            fn as_dims(&self) -> &[D::Dim] {
                (**self).as_dims()
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
        let wide = [1_i64, 2];
        assert!(matches!(Dims::of(&wide).unwrap().0, Repr::Borrowed(_)));
        let of_addresses = [1_usize, 2];
        let is_borrowed = matches!(Dims::of(&of_addresses).unwrap().0, Repr::Borrowed(_));
        assert_eq!(is_borrowed, usize::BITS == 64);
        let narrow = [1_u8, 2];
        assert!(matches!(Dims::of(&narrow).unwrap().0, Repr::Inline { len: 2, .. }));
        let many = vec![1_u16; 9];
        assert!(matches!(Dims::of(&many).unwrap().0, Repr::Heap(_)));
        assert_eq!(Dims::of(&many).unwrap().as_slice(), [1; 9]);
    }

    #[test]
    fn numbers_that_do_not_fit_are_named() {
        assert_eq!(Dims::of(&[1, u64::MAX]).unwrap_err(), Error::DimTooLarge { axis: 1 });
        assert_eq!(Dims::of(&[i128::MIN]).unwrap_err(), Error::DimTooLarge { axis: 0 });
        #[cfg(target_pointer_width = "64")]
        assert_eq!(Dims::of(&[1, usize::MAX]).unwrap_err(), Error::DimTooLarge { axis: 1 });
    }

    #[test]
    fn every_pointer_is_a_list() {
        let arc: Arc<[i32]> = Arc::new([3, 4]);
        assert_eq!(arc.as_dims(), [3, 4]);
        let boxed: Box<[isize]> = Box::new([-3, 4]);
        assert_eq!((&&boxed).as_dims(), [-3, 4]);
    }
}
