//! Reads elements of every numeric type as values of the widest type of their kind, and converts
//! these to every numeric type: [`for_each_block`], [`Narrow`].
//!
//! One loop for each pair of types would be 300 loops; these are 60, and the wide values stay in
//! the first cache.

use super::small_float::{
    BComplex32, BF16, Bits, Complex32, E3M4, E4M3, E4M3B11FNUZ, E4M3FN, E4M3FNUZ, E5M2, E5M2FNUZ,
    F16, Format, decode_scale,
};
use crate::dtype::DataType;
use crate::element::{AnyBits, Complex, Element, Readable};
use crate::error::Error;
use crate::import::{Elements, ImportedTensor};

/// Values of a block.
pub(super) enum Wide<'a> {
    Signed(&'a [i64]),
    Unsigned(&'a [u64]),
    Float(&'a [f64]),
    Complex(&'a [Complex<f64>]),
}

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

/// Values that are widened at a time: 8 KiB of complex numbers.
const CHUNK: usize = 512;

/// Calls a function with the values of all elements, in column-major or row-major order.
///
/// # Errors
///
/// Those of [`ImportedTensor::elements`]; [`Error::InvalidBits`] for a `bool` that is neither 0
/// nor 1; [`Error::UnsupportedDType`] for elements that are not numbers.
pub(super) fn for_each_block(
    tensor: &ImportedTensor,
    column_major: bool,
    f: &mut dyn FnMut(Wide<'_>),
) -> Result<(), Error> {
    macro_rules! widened {
        ($type:ty, $wide:ident, $widen:expr) => {
            widened(&elements::<$type>(tensor, column_major)?, $widen, |values| {
                f(Wide::$wide(values));
            })
        };
    }
    macro_rules! as_they_are {
        ($type:ty, $wide:ident) => {
            elements::<$type>(tensor, column_major)?.try_for_each(|block| f(Wide::$wide(block)))
        };
    }
    match tensor.dtype() {
        DataType::BOOL => widened!(bool, Signed, i64::from),
        DataType::I8 => widened!(i8, Signed, i64::from),
        DataType::I16 => widened!(i16, Signed, i64::from),
        DataType::I32 => widened!(i32, Signed, i64::from),
        DataType::I64 => as_they_are!(i64, Signed),
        DataType::U8 => widened!(u8, Signed, i64::from),
        DataType::U16 => widened!(u16, Signed, i64::from),
        DataType::U32 => widened!(u32, Signed, i64::from),
        DataType::U64 => as_they_are!(u64, Unsigned),
        DataType::F16 => widened!(u16, Float, F16::value),
        DataType::BF16 => widened!(u16, Float, BF16::value),
        DataType::F32 => widened!(f32, Float, f64::from),
        DataType::F64 => as_they_are!(f64, Float),
        DataType::FLOAT8_E3M4 => widened!(u8, Float, E3M4::value),
        DataType::FLOAT8_E4M3 => widened!(u8, Float, E4M3::value),
        DataType::FLOAT8_E4M3B11FNUZ => widened!(u8, Float, E4M3B11FNUZ::value),
        DataType::FLOAT8_E4M3FN => widened!(u8, Float, E4M3FN::value),
        DataType::FLOAT8_E4M3FNUZ => widened!(u8, Float, E4M3FNUZ::value),
        DataType::FLOAT8_E5M2 => widened!(u8, Float, E5M2::value),
        DataType::FLOAT8_E5M2FNUZ => widened!(u8, Float, E5M2FNUZ::value),
        DataType::FLOAT8_E8M0FNU => widened!(u8, Float, decode_scale),
        DataType::COMPLEX32 => widened!(u32, Complex, Complex32::complex),
        DataType::BCOMPLEX32 => widened!(u32, Complex, BComplex32::complex),
        DataType::COMPLEX64 => {
            widened!(Complex<f32>, Complex, |z| Complex { re: z.re.into(), im: z.im.into() })
        }
        DataType::COMPLEX128 => as_they_are!(Complex<f64>, Complex),
        dtype => Err(Error::UnsupportedDType { dtype }),
    }
}

/// The elements of a tensor in an order of its axes.
enum Ordered<'a, T> {
    RowMajor(Elements<'a, T>),
    ColumnMajor(Elements<'a, T>),
}

impl<T: Readable> Ordered<'_, T> {
    fn try_for_each(&self, f: impl FnMut(&[T])) -> Result<(), Error> {
        match self {
            Self::RowMajor(elements) => elements.try_for_each_block(f),
            Self::ColumnMajor(elements) => elements.try_for_each_block_by_columns(f),
        }
    }
}

/// The elements, as a type of the same size.
fn elements<T: Readable>(
    tensor: &ImportedTensor,
    column_major: bool,
) -> Result<Ordered<'_, T>, Error> {
    let elements = tensor.stored_as()?;
    Ok(if column_major { Ordered::ColumnMajor(elements) } else { Ordered::RowMajor(elements) })
}

/// Calls a function with wide values of all elements.
fn widened<T: Readable, W: Copy + Default>(
    elements: &Ordered<'_, T>,
    widen: impl Fn(T) -> W,
    mut f: impl FnMut(&[W]),
) -> Result<(), Error> {
    let mut values = [W::default(); CHUNK];
    elements.try_for_each(|block| {
        for chunk in block.chunks(CHUNK) {
            let values = values.get_mut(..chunk.len()).unwrap_or_default();
            for (to, &element) in values.iter_mut().zip(chunk) {
                *to = widen(element);
            }
            f(values);
        }
    })
}

impl<const CODE: u8, U: Into<u32>> Bits<CODE, U> {
    #[inline(always)]
    fn value(bits: U) -> f64 {
        Format::of(CODE).decode(bits.into())
    }
}

impl<const CODE: u8> Bits<CODE, u32> {
    #[inline(always)]
    fn complex(bits: u32) -> Complex<f64> {
        let [re, im] = bytemuck::cast::<u32, [u16; 2]>(bits);
        let part = |bits: u16| Format::of(CODE).decode(bits.into());
        Complex { re: part(re), im: part(im) }
    }
}

/// A type to which values are converted. Each function returns whether the value is kept: an
/// integer exactly, and another number rounded to the nearest one, but not from a finite number
/// to infinity.
pub(super) trait Narrow {
    const DTYPE: DataType;
    /// A Rust type of the same size.
    type Stored: AnyBits;

    fn of_signed(value: i64) -> (Self::Stored, bool);
    fn of_unsigned(value: u64) -> (Self::Stored, bool);
    fn of_float(value: f64) -> (Self::Stored, bool);
    fn of_complex(value: Complex<f64>) -> (Self::Stored, bool);

    /// Converts a block. Returns whether all values are kept.
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

/// An integer as a number that is rounded to 12 bits or fewer as the integer is: bits that an
/// `f64` has no room for are one bit at its end.
#[expect(clippy::cast_precision_loss, reason = "there are 53 bits")]
fn sticky(magnitude: u64) -> f64 {
    const REST: u64 = (1 << 11) - 1;
    if magnitude >> 53 == 0 {
        return magnitude as f64;
    }
    (magnitude & !REST | u64::from(magnitude & REST != 0) << 11) as f64
}

fn sticky_signed(value: i64) -> f64 {
    let magnitude = sticky(value.unsigned_abs());
    if value < 0 { -magnitude } else { magnitude }
}

macro_rules! small_floats {
    ($($bits:ty)+) => {$(
        #[expect(clippy::cast_possible_truncation, reason = "a code has as many bits")]
        impl<const CODE: u8> Narrow for Bits<CODE, $bits> {
            const DTYPE: DataType = Self::DTYPE;
            type Stored = $bits;

            fn of_signed(value: i64) -> ($bits, bool) {
                Self::of_float(sticky_signed(value))
            }

            fn of_unsigned(value: u64) -> ($bits, bool) {
                Self::of_float(sticky(value))
            }

            fn of_float(value: f64) -> ($bits, bool) {
                let (code, is_kept) = Format::of(CODE).encode(value);
                (code as $bits, is_kept)
            }

            fn of_complex(_: Complex<f64>) -> ($bits, bool) {
                (0, false)
            }
        }
    )+};
}

small_floats! { u16 u8 }

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

impl Narrow for Complex<f32> {
    const DTYPE: DataType = DataType::COMPLEX64;
    complex!(f32, Self, Complex::from);
}

impl Narrow for Complex<f64> {
    const DTYPE: DataType = DataType::COMPLEX128;
    complex!(f64, Self, Complex::from);
}

impl<const CODE: u8> Narrow for Bits<CODE, u32> {
    const DTYPE: DataType = Self::DTYPE;
    complex!(Bits<CODE, u16>, u32, bytemuck::cast::<[u16; 2], u32>);
}
