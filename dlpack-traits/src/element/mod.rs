//! Rust types of the elements of a tensor: [`Element`].

mod field;
mod readable;
mod record;

use bytemuck::{Pod, Zeroable};

use crate::dtype::DataType;

pub use field::Field;
pub use readable::{AnyBits, Readable};
pub(crate) use readable::{BitsAreValid, bytes_of, bytes_of_mut, zero};
pub use record::{FieldType, RecordType};

/// A Rust type that the elements of a tensor can have.
///
/// ```
/// use dlpack_traits::{Complex, DataType, Element};
///
/// assert_eq!(f32::DTYPE, DataType::F32);
/// assert_eq!(Complex::<f64>::DTYPE, DataType::COMPLEX128);
/// assert!(!bool::ANY_BITS);
/// ```
///
/// An array is an element with an axis: a `Vec<[f32; 3]>` of 2 elements is a tensor of the shape
/// `[2, 3]`, as is a `Vec` of a newtype of `[f32; 3]`.
/// A struct that derives `Record` is its bytes: an array of `u8`, with the names of its fields in
/// `RECORD`.
///
/// ```
/// use dlpack_traits::{DataRef, DataType, Element, Layout, TensorView};
///
/// assert_eq!((<[f32; 3]>::DTYPE, <[f32; 3]>::AXES), (DataType::F32, &[3][..]));
/// let points = [[0.0_f32; 3]; 2];
/// let view = TensorView::new(DataRef::from_slice(&points), Layout::new([2]))?;
/// assert_eq!(view.shape(), [2, 3]);
/// # Ok::<(), dlpack_traits::Error>(())
/// ```
///
/// # Safety
///
/// An implementation promises that
/// 1. every byte of a value is initialized: no padding, no uninitialized part;
/// 2. nothing can be changed through a shared reference: no `Cell`, no atomics;
/// 3. `DTYPE` describes the type's memory, or that of each part of an array with
///    the axes `AXES`, and the sizes agree with `size_of::<Self>()` (asserted at
///    compile time where the type is used);
/// 4. if `ANY_BITS` is true, every pattern of bits is a valid value.
///
/// Generic `unsafe` code that relies on this must use the constant `DTYPE`, for example by
/// `let _ = T::DTYPE;`: the check of a derived type is in that constant, and the compiler does not
/// evaluate a constant that is not used.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a DLPack element type",
    label = "no DLPack data type code for this type",
    note = "element types are `bool`, `i8`-`i64`, `u8`-`u64`, `f32`, `f64` and `Complex<f32 or f64>`",
    note = "an array of one of these, such as `[f32; 3]`, is an element with an axis, and a newtype of an element is one if it derives `Element`",
    note = "a `#[repr(C)]` struct of several elements is one if it derives `dlpack_traits::Record`",
    note = "the rows of a `Vec<Vec<T>>` each lie apart, and a tensor is one piece of memory: hold all in one `Vec<T>`, such as `rows.concat()` makes",
    note = "DLPack has no characters, and no integers of 128 bits",
    note = "`half::f16` and `half::bf16` need the `half` feature of `dlpack-traits`",
    note = "the complex types of other crates are not elements; `dlpack_traits::Complex` has their memory layout"
)]
pub unsafe trait Element: Copy + Send + Sync + 'static {
    /// The data type of this type, or of its parts if it is an array.
    const DTYPE: DataType;
    /// The axes of an array type, which are the last axes of a tensor; empty for scalars. A
    /// `[u8; 3]`, and a pixel `struct Rgb([u8; 3])`, have the `DTYPE` `U8` and one axis of size 3.
    const AXES: &'static [i64] = &[];
    /// Whether every bit pattern is a valid value, so that foreign code may write any
    /// bytes.
    const ANY_BITS: bool;
    /// The fields of a struct that derives `Record`, whose last axis is that of its bytes; `None`
    /// for other types. NumPy gets the structured dtype.
    const RECORD: Option<&'static RecordType> = None;
}

/// Compile-time check of promise 3, evaluated wherever [`SizeMatches::OK`] is named.
pub(crate) struct SizeMatches<T>(core::marker::PhantomData<T>);

impl<T: Element> SizeMatches<T> {
    pub(crate) const OK: () = assert!(
        matches!(T::DTYPE.byte_size(), Some(size) if times(size, T::AXES) == size_of::<T>()),
        "the size of this `Element` differs from the size of its `DTYPE` times its `AXES`"
    );
}

/// Compile-time check that an element can be passed by value, evaluated wherever
/// [`ByValue::FITS`] is named. Each function on the way has a copy of it on its stack.
pub(crate) struct ByValue<T>(core::marker::PhantomData<T>);

impl<T> ByValue<T> {
    pub(crate) const FITS: () = assert_by_value(size_of::<T>());
}

/// Asserts that a value is not larger than a small part of a stack.
const fn assert_by_value(size: usize) {
    assert!(
        size <= 64 << 10,
        "an element of more than 64 KiB would overflow the stack by value: use blocks, rows or \
         `to_vec`, which lend slices"
    );
}

/// The size of an array of parts of `size`.
const fn times(mut size: usize, mut axes: &[i64]) -> usize {
    while let Some((&dim, rest)) = axes.split_first() {
        assert!(dim > 0, "an axis of an `Element` has at least one part");
        #[expect(clippy::cast_possible_truncation, reason = "the axes of a Rust type fit")]
        let dim = dim.unsigned_abs() as usize;
        size = size.checked_mul(dim).expect("the size of a Rust type");
        axes = rest;
    }
    size
}

/// Implements [`Element`] for types that implement `bytemuck::Pod`.
macro_rules! pod_elements {
    ($($type:ty => $dtype:ident),+ $(,)?) => {$(
        const _: () = {
            const fn is_pod<T: Pod>() {}
            is_pod::<$type>();
        };
        // SAFETY: `is_pod` above asserts that the type is plain old data, which
        // 1. has no padding and no uninitialized bytes,
        // 2. has no interior mutability, and
        // 4. is valid for any pattern of bits.
        // 3. The size is asserted by `SizeMatches`.
        unsafe impl Element for $type {
            const DTYPE: DataType = DataType::$dtype;
            const ANY_BITS: bool = true;
        }
    )+};
}

pod_elements! {
    i8 => I8, i16 => I16, i32 => I32, i64 => I64,
    u8 => U8, u16 => U16, u32 => U32, u64 => U64,
    f32 => F32, f64 => F64,
    Complex<f32> => COMPLEX64, Complex<f64> => COMPLEX128,
}

#[cfg(target_pointer_width = "64")]
pod_elements! { isize => I64, usize => U64 }

#[cfg(target_pointer_width = "32")]
pod_elements! { isize => I32, usize => U32 }

#[cfg(feature = "half")]
pod_elements! {
    half::f16 => F16, half::bf16 => BF16,
    Complex<half::f16> => COMPLEX32, Complex<half::bf16> => BCOMPLEX32,
}

#[cfg(feature = "num-complex")]
pod_elements! {
    num_complex::Complex<f32> => COMPLEX64, num_complex::Complex<f64> => COMPLEX128,
}

// SAFETY:
// 1. `bool` is one initialized byte.
// 2. It has no interior mutability.
// 3. `BOOL` has 8 bits.
// 4. Only 0 and 1 are valid, and `ANY_BITS` is false.
unsafe impl Element for bool {
    const DTYPE: DataType = DataType::BOOL;
    const ANY_BITS: bool = false;
}

/// A complex number in the memory layout of C, C++ and Python: real part first.
///
/// This type only describes memory. It has no arithmetic; convert it to the type of a
/// numerics crate.
///
/// ```
/// use dlpack_traits::Complex;
///
/// let z = Complex { re: 1.0_f32, im: -2.0 };
/// assert_eq!(<[f32; 2]>::from(z), [1.0, -2.0]);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct Complex<T> {
    /// Real part.
    pub re: T,
    /// Imaginary part.
    pub im: T,
}

// SAFETY: two zeroed parts are valid if one is.
unsafe impl<T: Zeroable> Zeroable for Complex<T> {}
// SAFETY: `repr(C)` with two fields of one type has no padding: its size is
// twice that of `T`, and both parts are plain old data.
unsafe impl<T: Pod> Pod for Complex<T> {}

impl<T> From<[T; 2]> for Complex<T> {
    fn from([re, im]: [T; 2]) -> Self {
        Self { re, im }
    }
}

impl<T> From<Complex<T>> for [T; 2] {
    fn from(z: Complex<T>) -> Self {
        [z.re, z.im]
    }
}

/// An element of several lanes: a vector such as `float32x4`.
///
/// ```
/// use dlpack_traits::{Element, Lanes};
///
/// assert_eq!(Lanes::<f32, 4>::DTYPE.to_string(), "float32x4");
/// assert_eq!(Lanes([1_u8, 2]).0, [1, 2]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Lanes<T, const N: usize>(pub [T; N]);

// SAFETY: an array of zeroed lanes is valid if a zeroed lane is.
unsafe impl<T: Zeroable, const N: usize> Zeroable for Lanes<T, N> {}
// SAFETY: it is a transparent array, which is plain old data if its lanes are.
unsafe impl<T: Pod, const N: usize> Pod for Lanes<T, N> {}

// SAFETY:
// 1. and 2. It is a transparent array of elements.
// 3. Its lanes are those of the type. The size is asserted by `SizeMatches`.
// 4. Any bits are a valid array if they are valid lanes.
unsafe impl<T: Element, const N: usize> Element for Lanes<T, N> {
    const DTYPE: DataType = {
        assert!(T::DTYPE.lanes() == 1 && T::AXES.is_empty(), "a lane is one number");
        assert!(N > 0 && N <= u16::MAX as usize, "there are 1 to 65,535 lanes");
        #[expect(clippy::cast_possible_truncation, reason = "asserted above")]
        T::DTYPE.with_lanes(N as u16)
    };
    const ANY_BITS: bool = T::ANY_BITS;
}

impl<T, const N: usize> From<[T; N]> for Lanes<T, N> {
    fn from(lanes: [T; N]) -> Self {
        Self(lanes)
    }
}

impl<T, const N: usize> From<Lanes<T, N>> for [T; N] {
    fn from(lanes: Lanes<T, N>) -> Self {
        lanes.0
    }
}

// SAFETY:
// 1. and 2. An array is its elements in sequence, without padding.
// 3. The axes are `N` and those of each element. The size is asserted by `SizeMatches`, which
//    rejects an array without elements.
// 4. Any bits are a valid array if they are valid elements.
#[diagnostic::do_not_recommend]
unsafe impl<T: Element, const N: usize> Element for [T; N] {
    const DTYPE: DataType = T::DTYPE;
    const AXES: &'static [i64] =
        ElementAxes::<T, N>::ROOM.split_at(T::AXES.len().saturating_add(1)).0;
    const ANY_BITS: bool = T::ANY_BITS;
    const RECORD: Option<&'static RecordType> = T::RECORD;
}

/// The largest number of dimensions of a tensor, and so of axes of an element.
const ROOM: usize = 64;

/// The axes of a `[T; N]`.
struct ElementAxes<T, const N: usize>(core::marker::PhantomData<T>);

impl<T: Element, const N: usize> ElementAxes<T, N> {
    /// The axes, followed by zeros. A constant expression cannot have a length that depends on
    /// `T`.
    const ROOM: &'static [i64; ROOM] = &room(N, T::AXES);
}

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
    extern crate std;

    use super::{Complex, Element, Lanes, ROOM, room};
    use crate::dtype::DataType;

    #[test]
    fn elements_that_would_overflow_the_stack_are_not_passed_by_value() {
        super::assert_by_value(64 << 10);
        let larger = std::panic::catch_unwind(|| super::assert_by_value((64 << 10) + 1));
        assert!(larger.is_err());
    }

    /// The compiler evaluates this function in constants; here it runs.
    #[test]
    fn parts_are_multiplied() {
        assert_eq!(super::times(4, &[]), 4);
        assert_eq!(super::times(4, &[3, 2]), 24);
    }

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
}
