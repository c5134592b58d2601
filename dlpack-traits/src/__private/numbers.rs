//! Detection of types that hold integers or `bool`s, also behind a type alias.
//!
//! A derive sees the tokens of a field's type, but not the type that an alias stands for.
//! For a field without a role it emits `Field::<Type>::HOLDS_NUMBERS`: the inherent
//! constant if the type implements [`Numbers`], and that of [`OtherField`] otherwise.

use alloc::borrow::{Cow, ToOwned};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::rc::Rc;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cell::Cell;
use core::marker::PhantomData;
use core::num::{NonZero, Saturating, Wrapping};
use core::ops::{Range, RangeInclusive};
use core::sync::atomic;

/// An integer, a `bool`, or a list, array, tuple or option of them.
pub trait Numbers {}

/// The type of a field without a role.
#[derive(Debug)]
pub struct Field<T: ?Sized>(PhantomData<T>);

impl<T: Numbers + ?Sized> Field<T> {
    /// The field holds integers or `bool`s.
    pub const HOLDS_NUMBERS: bool = true;
}

/// Implemented for every [`Field`]; used if the type does not implement [`Numbers`].
pub trait OtherField {
    /// The field holds something else.
    const HOLDS_NUMBERS: bool = false;
}

impl<T: ?Sized> OtherField for Field<T> {}

/// Fails the build if a field without a role holds numbers.
///
/// # Panics
///
/// At compile time, with `text`.
#[track_caller]
pub const fn reject_unmarked(holds_numbers: bool, text: &'static str) {
    assert!(!holds_numbers, "{}", text);
}

macro_rules! integers {
    ($($integer:ident)*) => {$(
        impl Numbers for $integer {}
        impl Numbers for NonZero<$integer> {}
        impl Numbers for Wrapping<$integer> {}
        impl Numbers for Saturating<$integer> {}
    )*};
}

integers! { i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize }

impl Numbers for bool {}

macro_rules! atomics {
    ($($width:literal: $($atomic:ident)*;)*) => {$($(
        #[cfg(target_has_atomic = $width)]
        impl Numbers for atomic::$atomic {}
    )*)*};
}

atomics! {
    "8": AtomicBool AtomicI8 AtomicU8;
    "16": AtomicI16 AtomicU16;
    "32": AtomicI32 AtomicU32;
    "64": AtomicI64 AtomicU64;
    "ptr": AtomicIsize AtomicUsize;
}

impl<T: Numbers + ?Sized> Numbers for &T {}
impl<T: Numbers + ?Sized> Numbers for &mut T {}
impl<T: Numbers> Numbers for [T] {}
impl<T: Numbers, const N: usize> Numbers for [T; N] {}
impl<T: Numbers> Numbers for Option<T> {}
impl<T: Numbers> Numbers for Vec<T> {}
impl<T: Numbers> Numbers for VecDeque<T> {}
impl<T: Numbers + ?Sized> Numbers for Box<T> {}
impl<T: Numbers + ?Sized> Numbers for Arc<T> {}
impl<T: Numbers + ?Sized> Numbers for Rc<T> {}
impl<T: Numbers + ToOwned + ?Sized> Numbers for Cow<'_, T> {}
impl<T: Numbers + ?Sized> Numbers for Cell<T> {}
impl<T: Numbers> Numbers for Range<T> {}
impl<T: Numbers> Numbers for RangeInclusive<T> {}

/// Tuples, up to the length for which the standard library has implementations.
macro_rules! tuples {
    ($first:ident $($other:ident)*) => {
        impl<$first: Numbers, $($other: Numbers),*> Numbers for ($first, $($other,)*) {}
        tuples!($($other)*);
    };
    () => {};
}

tuples! { A B C D E F G H I J K L }

#[cfg(test)]
mod tests {
    use alloc::string::String;

    use super::*;

    /// The expression that an expansion contains for a field of that type.
    macro_rules! holds_numbers {
        ($($ty:ty),* $(,)?) => { [$(Field::<$ty>::HOLDS_NUMBERS),*] };
    }

    #[test]
    fn integers_bools_and_lists_of_them_are_numbers() {
        let found = holds_numbers![
            u8,
            bool,
            NonZero<u32>,
            Wrapping<i64>,
            atomic::AtomicUsize,
            [u32; 2],
            &'static [u8],
            Option<Vec<u32>>,
            Arc<[usize]>,
            Cow<'static, [i64]>,
            (u8, bool),
            (u8,),
            (u8, u8, u8, u8, bool),
            (u8, u8, u8, u8, u8, u8, u8, u8, u8, u8, u8, [bool; 2]),
            Range<usize>,
        ];
        assert!(found.into_iter().all(|holds| holds), "{found:?}");
    }

    #[test]
    fn other_types_are_not_numbers() {
        let found = holds_numbers![f32, String, str, [f32; 2], Option<char>, (f32, String), ()];
        assert!(!found.into_iter().any(|holds| holds), "{found:?}");
    }

    #[test]
    fn only_numbers_fail_the_build() {
        reject_unmarked(false, "");
        let failed = std::panic::catch_unwind(|| reject_unmarked(true, "field `row`"));
        assert!(failed.is_err());
    }
}
