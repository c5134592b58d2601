//! Arrays, which are elements with an axis: [`Element`] for `[T; N]`.

use super::{AnyBits, Element, Readable};
use crate::dtype::DataType;

/// The largest number of dimensions of a tensor, and so of axes of an element.
const ROOM: usize = 64;

/// The axes of a `[T; N]`.
struct Axes<T, const N: usize>(core::marker::PhantomData<T>);

impl<T: Element, const N: usize> Axes<T, N> {
    /// The axes, followed by zeros. A constant expression cannot have a length that depends on
    /// `T`.
    const ROOM: &'static [i64; ROOM] = &room(N, T::AXES);
}

// SAFETY:
// 1. and 2. An array is its elements in sequence, without padding.
// 3. The axes are `N` and those of each element. The size is asserted by `SizeMatches`, which
//    rejects an array without elements.
// 4. Any bits are a valid array if they are valid elements.
#[diagnostic::do_not_recommend]
unsafe impl<T: Element, const N: usize> Element for [T; N] {
    const DTYPE: DataType = T::DTYPE;
    const AXES: &'static [i64] = Axes::<T, N>::ROOM.split_at(T::AXES.len().saturating_add(1)).0;
    const ANY_BITS: bool = T::ANY_BITS;
}

// SAFETY: 1. An array is its elements in sequence, so its values are valid if the elements are,
// which 1 of `Readable` guarantees. The size of an array is a multiple of theirs.
#[diagnostic::do_not_recommend]
unsafe impl<T: Readable, const N: usize> Readable for [T; N] {
    #[inline(always)]
    fn are_valid(bytes: &[u8]) -> bool {
        T::are_valid(bytes)
    }
}

#[diagnostic::do_not_recommend]
impl<T: AnyBits, const N: usize> AnyBits for [T; N] {}

/// A dimension followed by axes, padded with zeros.
#[expect(clippy::arithmetic_side_effects, reason = "at compile time, where it is an error")]
#[expect(clippy::indexing_slicing, reason = "at compile time, where it is an error")]
const fn room(first: usize, axes: &[i64]) -> [i64; ROOM] {
    let mut room = [0; ROOM];
    #[expect(clippy::cast_possible_wrap, reason = "no array is longer than `isize::MAX`")]
    let dim = first as i64;
    room[0] = dim;
    let mut next = 0;
    while next < axes.len() {
        room[next + 1] = axes[next];
        next += 1;
    }
    room
}

#[cfg(test)]
mod tests {
    use super::{ROOM, room};
    use crate::dtype::DataType;
    use crate::element::{Complex, Element, Lanes, Readable};

    #[test]
    fn axes_follow_the_first_dimension() {
        let some = |dims: &[i64]| {
            let mut room = [0; ROOM];
            room[..dims.len()].copy_from_slice(dims);
            room
        };
        assert_eq!(room(4, &[]), some(&[4]));
        assert_eq!(room(4, &[3, 2]), some(&[4, 3, 2]));
        assert_eq!(<[[f32; 2]; 3]>::AXES, [3, 2]);
        assert_eq!(<[Complex<f64>; 2]>::DTYPE, DataType::COMPLEX128);
        assert_eq!(<[Lanes<u8, 4>; 2]>::DTYPE, DataType::U8.with_lanes(4));
    }

    #[test]
    fn arrays_have_the_valid_bits_of_their_elements() {
        const { assert!(<[u8; 2]>::ANY_BITS && !<[bool; 2]>::ANY_BITS) };
        assert!(<[bool; 2]>::are_valid(&[0, 1]) && !<[bool; 2]>::are_valid(&[1, 2]));
        assert!(<[u16; 2]>::are_valid(&[255; 4]));
    }
}
