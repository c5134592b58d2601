//! Element types that can be read from memory with unknown contents: [`Readable`] and
//! [`AnyBits`].

use core::marker::PhantomData;
use core::mem::MaybeUninit;

use super::{Complex, Element, Lanes, SizeMatches};

/// An element type that can be read from imported memory, which may contain any bytes.
///
/// Implemented for
/// - every element type of this crate,
/// - a struct that derives `Element` with `#[dlpack(any_bits)]`: nothing is checked,
///   because every bit pattern is a valid value,
/// - a struct that derives `Element` without it and implements
///   `bytemuck::CheckedBitPattern`, whose `Bits` are `NoUninit`: that implementation checks
///   each value that is read.
///
/// A type with an `unsafe impl Element` implements this trait by hand:
///
/// ```
/// use dlpack_traits::{DataType, Element, Readable};
///
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// #[repr(u8)]
/// enum Switch {
///     Off,
///     On,
/// }
///
/// // SAFETY: 1. and 2. It is one byte, always initialized. 3. `U8` has one byte.
/// // 4. `ANY_BITS` is false.
/// unsafe impl Element for Switch {
///     const DTYPE: DataType = DataType::U8;
///     const ANY_BITS: bool = false;
/// }
///
/// // SAFETY: 1. 0 is `Off`, and 1 is `On`.
/// unsafe impl Readable for Switch {
///     fn are_valid(bytes: &[u8]) -> bool {
///         bytes.iter().all(|&byte| byte <= 1)
///     }
/// }
/// ```
///
/// # Safety
///
/// An implementation promises that
/// 1. if `are_valid` returns true for bytes whose number is a multiple of the size of the
///    type, each part of that size is a valid value. The default keeps this promise.
#[diagnostic::on_unimplemented(
    message = "elements of type `{Self}` cannot be read",
    label = "not `Readable`: not an element type, or one with invalid bit patterns that nothing checks",
    note = "name an element type: `bool`, `i8`-`i64`, `u8`-`u64`, `f32`, `f64`, `Complex<f32 or f64>`, or an array of one; DLPack has no integers of 128 bits and no characters",
    note = "in a function that is generic over the elements, write the bound `T: Readable`, or `T: AnyBits` if it calls `iter` or `for_each_block`",
    note = "a struct that derives `Element` is readable with `#[dlpack(any_bits)]`, if every pattern of bits is a value of it, or with an `impl bytemuck::CheckedBitPattern`, whose `Bits` are `NoUninit`; an `unsafe impl Element` needs an `unsafe impl Readable`",
    note = "an `ImportedStorage` without a type does not name its elements: read it with `foreign.typed::<f32>()?` or `foreign.imported().elements::<f32>()?`"
)]
pub unsafe trait Readable: Element {
    /// Whether the bytes are contiguous valid values of this type. Their number is a
    /// multiple of the size of the type; they may be unaligned.
    ///
    /// The default accepts all bytes or none, depending on [`Element::ANY_BITS`].
    #[inline(always)]
    fn are_valid(bytes: &[u8]) -> bool {
        let _ = bytes;
        Self::ANY_BITS
    }
}

/// An element type without invalid bit patterns: foreign code may write it, and Rust may
/// borrow memory that foreign code wrote.
///
/// Implemented for the element types of this crate except `bool`, and for a struct that
/// derives `Element` with `#[dlpack(any_bits)]`. A type with an `unsafe impl Element` whose
/// [`ANY_BITS`](Element::ANY_BITS) is true can implement it; if `ANY_BITS` is false, each
/// use is a compile error.
///
/// Generic `unsafe` code that relies on this must use the constant, for example by
/// `let _ = T::ANY_BITS;`: the check of a derived type is in [`ANY_BITS`](Element::ANY_BITS), and
/// the compiler does not evaluate a constant that is not used.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an element type whose every pattern of bits is a value",
    label = "not `AnyBits`",
    note = "read elements that have to be checked, such as `bool`, with `try_iter`, `try_for_each_block`, `for_each_row` or `to_vec`; they cannot be written or borrowed where other code wrote them",
    note = "in a function that is generic over the elements, write the bound `T: AnyBits`",
    note = "a struct that derives `Element` has it with `#[dlpack(any_bits)]`"
)]
pub trait AnyBits: Readable {}

/// Compile-time check that `ANY_BITS` is true, evaluated wherever [`BitsAreValid::OK`] is
/// named.
pub(crate) struct BitsAreValid<T>(PhantomData<T>);

impl<T: AnyBits> BitsAreValid<T> {
    pub(crate) const OK: () = assert_any_bits(T::ANY_BITS);
}

/// Asserts the promise of `AnyBits`.
const fn assert_any_bits(any_bits: bool) {
    assert!(any_bits, "an `AnyBits` element has an `ANY_BITS` that is true");
}

/// The element whose bytes are all zero.
#[inline(always)]
pub(crate) fn zero<T: AnyBits>() -> T {
    let () = BitsAreValid::<T>::OK;
    let () = SizeMatches::<T>::OK;
    // SAFETY: by 4 of `Element` any bits are a value, because `ANY_BITS` is true.
    unsafe { MaybeUninit::zeroed().assume_init() }
}

/// Borrows elements as bytes.
#[inline(always)]
pub(crate) fn bytes_of<T: Element>(elements: &[T]) -> &[u8] {
    let () = SizeMatches::<T>::OK;
    // SAFETY: by 1 of `Element` all bytes of the slice are initialized, and by its 2
    // nothing can change them while they are borrowed.
    unsafe { core::slice::from_raw_parts(elements.as_ptr().cast(), size_of_val(elements)) }
}

/// Borrows elements as bytes, for writing.
#[inline(always)]
pub(crate) fn bytes_of_mut<T: AnyBits>(elements: &mut [T]) -> &mut [u8] {
    let () = BitsAreValid::<T>::OK;
    let () = SizeMatches::<T>::OK;
    let byte_len = size_of_val(elements);
    // SAFETY: by 1 of `Element` all bytes of the slice are initialized, it is borrowed
    // exclusively, and by 4 of `Element` any bytes may be written, because `ANY_BITS` is
    // true.
    unsafe { core::slice::from_raw_parts_mut(elements.as_mut_ptr().cast(), byte_len) }
}

/// Implements both traits for types whose `ANY_BITS` is true.
macro_rules! any_bits {
    ($($type:ty),+ $(,)?) => {$(
        const _: () = BitsAreValid::<$type>::OK;
        // SAFETY: 1. `are_valid` is the default.
        unsafe impl Readable for $type {}
        impl AnyBits for $type {}
    )+};
}

any_bits! {
    i8, i16, i32, i64, isize, u8, u16, u32, u64, usize, f32, f64,
    Complex<f32>, Complex<f64>,
}

#[cfg(feature = "half")]
any_bits!(half::f16, half::bf16, Complex<half::f16>, Complex<half::bf16>);

#[cfg(feature = "num-complex")]
any_bits!(num_complex::Complex<f32>, num_complex::Complex<f64>);

// SAFETY: 1. 0 is `false`, and 1 is `true`.
unsafe impl Readable for bool {
    #[inline]
    fn are_valid(bytes: &[u8]) -> bool {
        bytes.iter().all(|&byte| byte <= 1)
    }
}

// SAFETY: 1. The type is a transparent array of lanes, so its values are valid if the lanes
// are, which 1 of `Readable` guarantees.
unsafe impl<T: Readable, const N: usize> Readable for Lanes<T, N> {
    #[inline(always)]
    fn are_valid(bytes: &[u8]) -> bool {
        T::are_valid(bytes)
    }
}

impl<T: AnyBits, const N: usize> AnyBits for Lanes<T, N> {}

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

#[cfg(test)]
mod tests {
    extern crate std;

    use std::panic::catch_unwind;

    use super::*;
    use crate::dtype::DataType;

    #[derive(Clone, Copy, Debug)]
    #[repr(transparent)]
    struct Handle(u8);
    // SAFETY: every obligation is kept by a type of one byte that is copied.
    unsafe impl Element for Handle {
        const DTYPE: DataType = DataType::U8;
        const ANY_BITS: bool = false;
    }
    // SAFETY: 1. `are_valid` is the default.
    unsafe impl Readable for Handle {}

    #[test]
    fn bytes_of_elements_are_checked_by_their_type() {
        assert!(bool::are_valid(&[0, 1, 1]) && !bool::are_valid(&[0, 2]));
        assert!(Lanes::<bool, 2>::are_valid(&[0, 1]) && !Lanes::<bool, 2>::are_valid(&[1, 3]));
        assert!(u8::are_valid(&[0, 255]) && Lanes::<f32, 2>::are_valid(&[255; 8]));
        assert!(!Handle::are_valid(&[0]));
    }

    #[test]
    fn arrays_have_the_valid_bits_of_their_elements() {
        const { assert!(<[u8; 2]>::ANY_BITS && !<[bool; 2]>::ANY_BITS) };
        assert!(<[bool; 2]>::are_valid(&[0, 1]) && !<[bool; 2]>::are_valid(&[1, 2]));
        assert!(<[u16; 2]>::are_valid(&[255; 4]));
    }

    #[test]
    fn elements_and_bytes_are_one_memory() {
        assert_eq!(zero::<Lanes<u16, 2>>(), Lanes([0, 0]));
        let mut lanes = [Lanes([1_u8, 2]), Lanes([3, 4])];
        assert_eq!(bytes_of(&lanes), [1, 2, 3, 4]);
        bytes_of_mut(&mut lanes)[3] = 5;
        assert_eq!(lanes[1], Lanes([3, 5]));
    }

    #[test]
    fn any_bits_are_asserted() {
        assert_any_bits(true);
        assert!(catch_unwind(|| assert_any_bits(false)).is_err());
    }
}
