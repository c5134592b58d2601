//! Converts values of the widest type of their kind to every numeric type: [`Narrow`].

use crate::dtype::DataType;
use crate::element::{AnyBits, Complex, Element};

/// Values that are converted at a time: 8 KiB of complex numbers.
pub(super) const CHUNK: usize = 512;

/// The widest type of a kind of numbers.
pub(super) trait Value: Copy + Default {
    #[cfg(feature = "pyo3")]
    fn wide(values: &[Self]) -> Wide<'_>;

    fn narrow<T: Narrow>(self) -> (T::Stored, bool);
}

macro_rules! values {
    ($($type:ty: $wide:ident, $narrow:ident;)+) => {$(
        impl Value for $type {
            #[cfg(feature = "pyo3")]
            fn wide(values: &[Self]) -> Wide<'_> {
                Wide::$wide(values)
            }

            #[inline(always)]
            fn narrow<T: Narrow>(self) -> (T::Stored, bool) {
                T::$narrow(self)
            }
        }
    )+};
}

values! {
    i64: Signed, of_signed;
    u64: Unsigned, of_unsigned;
    f64: Float, of_float;
    Complex<f64>: Complex, of_complex;
}

/// Values of a block.
#[cfg(feature = "pyo3")]
pub(super) enum Wide<'a> {
    Signed(&'a [i64]),
    Unsigned(&'a [u64]),
    Float(&'a [f64]),
    Complex(&'a [Complex<f64>]),
}

#[cfg(feature = "pyo3")]
impl Wide<'_> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Signed(values) => values.len(),
            Self::Unsigned(values) => values.len(),
            Self::Float(values) => values.len(),
            Self::Complex(values) => values.len(),
        }
    }
}

/// A type to which values are converted. Each function returns whether the value is kept: an
/// integer exactly, and another number rounded to the nearest one, but not from a finite number
/// to infinity.
pub trait Narrow {
    const DTYPE: DataType;
    /// A Rust type of the same size.
    type Stored: AnyBits;

    fn of_signed(value: i64) -> (Self::Stored, bool);
    fn of_unsigned(value: u64) -> (Self::Stored, bool);
    fn of_float(value: f64) -> (Self::Stored, bool);
    fn of_complex(value: Complex<f64>) -> (Self::Stored, bool);

    /// Converts a block. Returns whether all values are kept.
    #[cfg(feature = "pyo3")]
    #[allow(private_interfaces, reason = "the trait is sealed")]
    fn narrow(from: &Wide<'_>, to: &mut [Self::Stored]) -> bool {
        match from {
            Wide::Signed(from) => each(from, to, Self::of_signed),
            Wide::Unsigned(from) => each(from, to, Self::of_unsigned),
            Wide::Float(from) => each(from, to, Self::of_float),
            Wide::Complex(from) => each(from, to, Self::of_complex),
        }
    }
}

/// Without a branch in the loop, so that it is vectorized.
#[cfg(feature = "pyo3")]
#[inline(always)]
fn each<W: Copy, T>(from: &[W], to: &mut [T], narrow: impl Fn(W) -> (T, bool)) -> bool {
    let mut are_kept = true;
    for (to, &from) in to.iter_mut().zip(from) {
        let (value, is_kept) = narrow(from);
        *to = value;
        are_kept &= is_kept;
    }
    are_kept
}

macro_rules! integers {
    ($($type:ty)+) => {$(
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_possible_wrap,
            clippy::cast_lossless,
            reason = "the second value is whether the first is kept"
        )]
        #[allow(clippy::unnecessary_fallible_conversions, reason = "not of other integers")]
        impl Narrow for $type {
            const DTYPE: DataType = <$type as Element>::DTYPE;
            type Stored = Self;

            #[inline(always)]
            fn of_signed(value: i64) -> (Self, bool) {
                (value as $type, <$type>::try_from(value).is_ok())
            }

            #[inline(always)]
            fn of_unsigned(value: u64) -> (Self, bool) {
                (value as $type, <$type>::try_from(value).is_ok())
            }

            // The rule of casts does not get here.
            fn of_float(_: f64) -> (Self, bool) {
                (0, false)
            }

            fn of_complex(_: Complex<f64>) -> (Self, bool) {
                (0, false)
            }
        }
    )+};
}

integers! { i8 i16 i32 i64 u8 u16 u32 u64 }

macro_rules! floats {
    ($($type:ty)+) => {$(
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_precision_loss,
            clippy::cast_lossless,
            reason = "numbers are rounded to the nearest one"
        )]
        #[allow(trivial_numeric_casts, reason = "not of `f32`")]
        impl Narrow for $type {
            const DTYPE: DataType = <$type as Element>::DTYPE;
            type Stored = Self;

            #[inline(always)]
            fn of_signed(value: i64) -> (Self, bool) {
                (value as $type, true)
            }

            #[inline(always)]
            fn of_unsigned(value: u64) -> (Self, bool) {
                (value as $type, true)
            }

            #[inline(always)]
            fn of_float(value: f64) -> (Self, bool) {
                let rounded = value as $type;
                (rounded, rounded.is_finite() || !value.is_finite())
            }

            fn of_complex(_: Complex<f64>) -> (Self, bool) {
                (0.0, false)
            }
        }
    )+};
}

floats! { f32 f64 }

/// Complex numbers of two equal parts.
macro_rules! complex {
    ($part:ty, $stored:ty, $of_parts:expr) => {
        type Stored = $stored;

        fn of_signed(value: i64) -> ($stored, bool) {
            let (re, is_kept) = <$part>::of_signed(value);
            ($of_parts([re, Default::default()]), is_kept)
        }

        fn of_unsigned(value: u64) -> ($stored, bool) {
            let (re, is_kept) = <$part>::of_unsigned(value);
            ($of_parts([re, Default::default()]), is_kept)
        }

        fn of_float(value: f64) -> ($stored, bool) {
            let (re, is_kept) = <$part>::of_float(value);
            ($of_parts([re, Default::default()]), is_kept)
        }

        fn of_complex(value: Complex<f64>) -> ($stored, bool) {
            let ((re, first), (im, second)) =
                (<$part>::of_float(value.re), <$part>::of_float(value.im));
            ($of_parts([re, im]), first & second)
        }
    };
}
pub(super) use complex;

impl Narrow for Complex<f32> {
    const DTYPE: DataType = DataType::COMPLEX64;
    complex!(f32, Self, Complex::from);
}

impl Narrow for Complex<f64> {
    const DTYPE: DataType = DataType::COMPLEX128;
    complex!(f64, Self, Complex::from);
}
