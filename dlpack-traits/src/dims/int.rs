//! Integers of any type as dimensions and strides: [`Dim`], [`Ints`].

use core::mem::MaybeUninit;

/// An integer type of a dimension or a stride: every integer type of Rust.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a number in the layout of a tensor",
    label = "not an integer",
    note = "dimensions, strides, offsets, pitches and lengths are integers of any type, such as `usize` or `i64`",
    note = "a list of all dimensions or strides is a field marked `#[dlpack(shape)]` or `#[dlpack(strides)]`"
)]
pub trait Dim: Copy + sealed::Sealed {
    /// The number 0.
    #[doc(hidden)]
    const ZERO: Self;

    /// Converts the number to the type that DLPack uses, if it fits.
    #[doc(hidden)]
    fn to_i64(self) -> Option<i64>;

    /// Converts from the type that DLPack uses, if the number fits.
    #[doc(hidden)]
    fn from_i64(number: i64) -> Option<Self>;

    /// Borrows the numbers, if they have the memory layout of `i64`s.
    #[doc(hidden)]
    #[inline]
    fn borrow(dims: &[Self]) -> Option<&[i64]> {
        let _ = dims;
        None
    }

    /// The numbers, as a list of this type.
    #[doc(hidden)]
    fn ints(dims: &[Self]) -> Ints<'_>;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! dims {
    ($($int:ident $(: $borrow:path)?),+ $(,)?) => {$(
        impl sealed::Sealed for $int {}
        #[diagnostic::do_not_recommend]
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

            #[inline(always)]
            fn ints(dims: &[Self]) -> Ints<'_> {
                Ints::$int(dims)
            }

            $(
                #[inline]
                fn borrow(dims: &[Self]) -> Option<&[i64]> {
                    $borrow(dims)
                }
            )?
        }
    )+};
}

/// Borrows 64-bit integers as `i64`s, if no `usize` would be negative as one.
#[inline]
fn as_they_are<D: Dim + bytemuck::Pod>(dims: &[D]) -> Option<&[i64]> {
    let fit = dims.iter().all(|dim| dim.to_i64().is_some());
    if fit { bytemuck::try_cast_slice(dims).ok() } else { None }
}

dims!(i8, i16, i32, i64: as_they_are, i128, u8, u16, u32, u64, u128);
#[cfg(target_pointer_width = "64")]
dims!(isize: as_they_are, usize: as_they_are);
#[cfg(not(target_pointer_width = "64"))]
dims!(isize, usize);

/// A list of numbers of any integer type.
///
/// It is a value, so that a [`Layout`](crate::Layout) needs no type parameter. The type is a constant
/// where a description is inlined, and nothing is left of the `match`es then.
#[doc(hidden)]
#[allow(missing_docs, non_camel_case_types, reason = "the names of the types")]
#[derive(Clone, Copy, Debug)]
pub enum Ints<'a> {
    i8(&'a [i8]),
    i16(&'a [i16]),
    i32(&'a [i32]),
    i64(&'a [i64]),
    i128(&'a [i128]),
    isize(&'a [isize]),
    u8(&'a [u8]),
    u16(&'a [u16]),
    u32(&'a [u32]),
    u64(&'a [u64]),
    u128(&'a [u128]),
    usize(&'a [usize]),
}

/// Evaluates an expression with the slice of each type.
macro_rules! of_any_type {
    ($ints:expr, $list:ident => $value:expr) => {
        match $ints {
            Ints::i8($list) => $value,
            Ints::i16($list) => $value,
            Ints::i32($list) => $value,
            Ints::i64($list) => $value,
            Ints::i128($list) => $value,
            Ints::isize($list) => $value,
            Ints::u8($list) => $value,
            Ints::u16($list) => $value,
            Ints::u32($list) => $value,
            Ints::u64($list) => $value,
            Ints::u128($list) => $value,
            Ints::usize($list) => $value,
        }
    };
}

impl Ints<'_> {
    #[inline(always)]
    pub(crate) const fn len(self) -> usize {
        of_any_type!(self, list => list.len())
    }

    /// The number at that index, if there is one and it fits.
    #[inline(always)]
    pub(crate) fn get(self, index: usize) -> Option<i64> {
        of_any_type!(self, list => list.get(index)?.to_i64())
    }

    /// The first `len` numbers, if there are as many.
    #[inline(always)]
    pub(crate) fn first(self, len: usize) -> Option<Self> {
        Some(of_any_type!(self, list => Dim::ints(list.get(..len)?)))
    }

    /// Writes the numbers to `places`, of which there are as many. Returns the index of the first one
    /// that does not fit, if there is one.
    pub(crate) fn write_to(self, places: &mut [MaybeUninit<i64>]) -> Result<(), usize> {
        of_any_type!(self, list => {
            for (index, (number, to)) in list.iter().zip(places).enumerate() {
                to.write(number.to_i64().ok_or(index)?);
            }
        });
        Ok(())
    }

    /// The address of the numbers, if those that fit have the memory layout of `i64`s; otherwise
    /// NULL.
    #[inline(always)]
    pub(crate) const fn stored(self) -> *const i64 {
        match self {
            Self::i64(list) => list.as_ptr(),
            #[cfg(target_pointer_width = "64")]
            Self::isize(list) => list.as_ptr().cast(),
            #[cfg(target_pointer_width = "64")]
            Self::usize(list) => list.as_ptr().cast(),
            _ => core::ptr::null(),
        }
    }
}
