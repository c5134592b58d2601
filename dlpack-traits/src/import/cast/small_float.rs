//! Floats of 16 bits and fewer as bits, their values ([`Format`]), and conversions to those of 16 and 8
//! bits.

#![expect(
    clippy::arithmetic_side_effects,
    reason = "exponents have at most 11 bits, and codes at most 16"
)]

use core::marker::PhantomData;

use super::values::{Narrow, complex};
use crate::dtype::DataType;
use crate::element::{AnyBits, Complex};
use crate::ffi::{self, DLDataTypeCode};

/// A type that Rust does not have, whose elements are read as unsigned integers `U` of its width.
/// `CODE` is its type code.
pub(super) struct Bits<const CODE: u8, U>(PhantomData<U>);

pub(super) type F16 = Bits<{ ffi::kDLFloat.0 }, u16>;
pub(super) type BF16 = Bits<{ ffi::kDLBfloat.0 }, u16>;
/// Two parts of 16 bits.
pub(super) type Complex32 = Bits<{ ffi::kDLComplex.0 }, u32>;
pub(super) type BComplex32 = Bits<{ ffi::kDLBcomplex.0 }, u32>;
pub(super) type E3M4 = Bits<{ ffi::kDLFloat8_e3m4.0 }, u8>;
pub(super) type E4M3 = Bits<{ ffi::kDLFloat8_e4m3.0 }, u8>;
pub(super) type E4M3B11FNUZ = Bits<{ ffi::kDLFloat8_e4m3b11fnuz.0 }, u8>;
pub(super) type E4M3FN = Bits<{ ffi::kDLFloat8_e4m3fn.0 }, u8>;
pub(super) type E4M3FNUZ = Bits<{ ffi::kDLFloat8_e4m3fnuz.0 }, u8>;
pub(super) type E5M2 = Bits<{ ffi::kDLFloat8_e5m2.0 }, u8>;
pub(super) type E5M2FNUZ = Bits<{ ffi::kDLFloat8_e5m2fnuz.0 }, u8>;
/// Types of 6 and 4 bits, each of which is read as a byte.
pub(super) type E2M3 = Bits<{ ffi::kDLFloat6_e2m3fn.0 }, u8>;
pub(super) type E3M2 = Bits<{ ffi::kDLFloat6_e3m2fn.0 }, u8>;
pub(super) type E2M1 = Bits<{ ffi::kDLFloat4_e2m1fn.0 }, u8>;

/// What the highest codes of a format mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Special {
    /// The highest exponent is infinity and NaN, as in IEEE 754.
    Infinity,
    /// All bits set is NaN.
    OnlyNaN,
    /// The code of a negative zero is NaN.
    NoNegativeZero,
    /// Nothing: each code is a finite number.
    Finite,
}

/// A binary format: a sign, an exponent and a mantissa.
#[derive(Clone, Copy, Debug)]
pub(super) struct Format {
    exponent: u32,
    mantissa: u32,
    bias: i64,
    special: Special,
}

const fn format(exponent: u32, mantissa: u32, bias: i64, special: Special) -> Format {
    Format { exponent, mantissa, bias, special }
}

impl Format {
    /// The format of a type code, or of each part of a complex number of 32 bits.
    pub(super) const fn of(code: u8) -> Self {
        match DLDataTypeCode(code) {
            ffi::kDLBfloat | ffi::kDLBcomplex => format(8, 7, 127, Special::Infinity),
            ffi::kDLFloat8_e3m4 => format(3, 4, 3, Special::Infinity),
            ffi::kDLFloat8_e4m3 => format(4, 3, 7, Special::Infinity),
            ffi::kDLFloat8_e4m3b11fnuz => format(4, 3, 11, Special::NoNegativeZero),
            ffi::kDLFloat8_e4m3fn => format(4, 3, 7, Special::OnlyNaN),
            ffi::kDLFloat8_e4m3fnuz => format(4, 3, 8, Special::NoNegativeZero),
            ffi::kDLFloat8_e5m2 => format(5, 2, 15, Special::Infinity),
            ffi::kDLFloat8_e5m2fnuz => format(5, 2, 16, Special::NoNegativeZero),
            ffi::kDLFloat6_e2m3fn => format(2, 3, 1, Special::Finite),
            ffi::kDLFloat6_e3m2fn => format(3, 2, 3, Special::Finite),
            ffi::kDLFloat4_e2m1fn => format(2, 1, 1, Special::Finite),
            // IEEE half precision.
            _ => format(5, 10, 15, Special::Infinity),
        }
    }

    /// All bits of the exponent and the mantissa.
    const fn all(self) -> u32 {
        low(self.exponent.wrapping_add(self.mantissa))
    }

    const fn sign(self) -> u32 {
        self.all().wrapping_add(1)
    }

    /// The exponent of infinity, and a mantissa of 0.
    const fn infinity(self) -> u32 {
        low(self.exponent).wrapping_shl(self.mantissa)
    }

    const fn nan(self) -> u32 {
        match self.special {
            Special::Infinity => {
                self.infinity() | 1_u32.wrapping_shl(self.mantissa.wrapping_sub(1))
            }
            Special::OnlyNaN | Special::Finite => self.all(),
            Special::NoNegativeZero => self.sign(),
        }
    }

    /// The code of the largest finite number.
    const fn largest(self) -> u32 {
        match self.special {
            Special::Infinity => self.infinity().wrapping_sub(1),
            Special::OnlyNaN => self.all().wrapping_sub(1),
            Special::NoNegativeZero | Special::Finite => self.all(),
        }
    }

    /// The value of a code, which every `f64` of this size can be.
    #[inline(always)]
    pub(super) fn decode(self, code: u32) -> f64 {
        let magnitude = code & self.all();
        let is_nan = match self.special {
            Special::Infinity => magnitude > self.infinity(),
            Special::OnlyNaN => magnitude == self.all(),
            Special::NoNegativeZero => code == self.sign(),
            Special::Finite => false,
        };
        if is_nan {
            return f64::NAN;
        }
        let value = if self.special == Special::Infinity && magnitude == self.infinity() {
            f64::INFINITY
        } else {
            let (exponent, mantissa) =
                (magnitude.wrapping_shr(self.mantissa), magnitude & low(self.mantissa));
            let hidden = if exponent == 0 { 0 } else { low(self.mantissa).wrapping_add(1) };
            let scale = power(i64::from(exponent.max(1)) - self.bias - i64::from(self.mantissa));
            f64::from(mantissa | hidden) * scale
        };
        if code & self.sign() == 0 { value } else { -value }
    }

    /// The code of the nearest value, of two nearest the even one; and whether the number is in
    /// the range of the format: a finite one does not become infinite or NaN.
    #[inline(always)]
    pub(super) fn encode(self, value: f64) -> (u32, bool) {
        let sign = if value.is_sign_negative() { self.sign() } else { 0 };
        if value.is_nan() {
            return (self.nan(), true);
        }
        let overflow = match self.special {
            Special::Infinity => self.infinity() | sign,
            _ => self.nan(),
        };
        if value.is_infinite() {
            return (overflow, self.special == Special::Infinity);
        }
        let magnitude = f64::from_bits(value.to_bits() & (u64::MAX >> 1));
        let exponent = i64::from((magnitude.to_bits() >> 52) as u16) - 1023;
        let exponent = exponent.max(1 - self.bias);
        // A multiple of the distance of two values there: fewer than 53 bits before the point.
        let scaled = magnitude * power(i64::from(self.mantissa) - exponent);
        // Adding it leaves no bit after the point, and rounds as IEEE 754 does.
        let point = power(52);
        #[expect(clippy::cast_possible_truncation, reason = "it is below 2^12")]
        let mantissa = ((scaled + point) - point) as i64;
        let hidden = i64::from(low(self.mantissa)) + 1;
        let code = ((exponent + self.bias) << self.mantissa) + mantissa - hidden;
        match u32::try_from(code) {
            Ok(code) if code <= self.largest() => {
                let has_sign = code != 0 || self.special != Special::NoNegativeZero;
                (code | if has_sign { sign } else { 0 }, true)
            }
            _ => (overflow, false),
        }
    }
}

/// The value of a scale `float8_e8m0fnu`.
pub(super) fn decode_scale(code: u8) -> f64 {
    if code == u8::MAX { f64::NAN } else { power(i64::from(code) - 127) }
}

/// A number with the lowest bits set.
const fn low(bits: u32) -> u32 {
    1_u32.wrapping_shl(bits).wrapping_sub(1)
}

/// 2 to an exponent between -1022 and 1023.
fn power(exponent: i64) -> f64 {
    f64::from_bits((exponent + 1023).unsigned_abs() << 52)
}

impl<const CODE: u8, U: AnyBits> Bits<CODE, U> {
    pub(super) const DTYPE: DataType = DataType::new(DLDataTypeCode(CODE), U::DTYPE.bits(), 1);
}

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

impl<const CODE: u8> Narrow for Bits<CODE, u32> {
    const DTYPE: DataType = Self::DTYPE;
    complex!(Bits<CODE, u16>, u32, bytemuck::cast::<[u16; 2], u32>);
}

#[cfg(test)]
mod tests {
    #![expect(clippy::float_cmp, clippy::cast_precision_loss, reason = "the values are exact")]

    use super::*;

    /// Miri takes minutes for all codes.
    const STEP: usize = if cfg!(miri) { 29 } else { 1 };

    const FORMATS: [(u8, u32); 12] = [
        (ffi::kDLFloat.0, 16),
        (ffi::kDLBfloat.0, 16),
        (ffi::kDLFloat8_e3m4.0, 8),
        (ffi::kDLFloat8_e4m3.0, 8),
        (ffi::kDLFloat8_e4m3b11fnuz.0, 8),
        (ffi::kDLFloat8_e4m3fn.0, 8),
        (ffi::kDLFloat8_e4m3fnuz.0, 8),
        (ffi::kDLFloat8_e5m2.0, 8),
        (ffi::kDLFloat8_e5m2fnuz.0, 8),
        (ffi::kDLFloat6_e2m3fn.0, 6),
        (ffi::kDLFloat6_e3m2fn.0, 6),
        (ffi::kDLFloat4_e2m1fn.0, 4),
    ];

    #[test]
    fn every_code_has_a_value_that_encodes_to_it() {
        for (code, bits) in FORMATS {
            let format = Format::of(code);
            for code in (0..1 << bits).step_by(if bits > 8 { STEP * STEP } else { STEP }) {
                let value = format.decode(code);
                let (again, fits) = format.encode(value);
                assert!(fits, "{format:?} {code:#x} {value}");
                if value.is_nan() {
                    assert!(format.decode(again).is_nan(), "{format:?} {code:#x}");
                } else {
                    assert_eq!(again, code, "{format:?} {value}");
                }
            }
        }
    }

    /// Between two neighbours the middle is rounded to the even code, and everything else to the
    /// nearer one.
    #[test]
    fn numbers_between_two_codes_are_rounded_to_the_nearest() {
        for (code, _) in FORMATS {
            let format = Format::of(code);
            for code in (0..format.largest()).step_by(STEP * STEP) {
                let (low, high) = (format.decode(code), format.decode(code + 1));
                assert!(low < high, "{format:?} {code:#x}");
                let middle = low + (high - low) / 2.0;
                let even = if code % 2 == 0 { code } else { code + 1 };
                assert_eq!(format.encode(middle), (even, true), "{format:?} {middle}");
                let just = |value: f64, up: bool| {
                    f64::from_bits(if up { value.to_bits() + 1 } else { value.to_bits() - 1 })
                };
                assert_eq!(format.encode(just(middle, true)), (code + 1, true));
                assert_eq!(format.encode(just(middle, false)), (code, true));
                assert_eq!(format.encode(-high).0, (code + 1) | format.sign());
            }
        }
    }

    #[test]
    fn a_finite_number_beyond_the_largest_does_not_fit() {
        for (code, _) in FORMATS {
            let format = Format::of(code);
            let largest = format.decode(format.largest());
            assert!(!format.encode(largest * 2.0).1 && !format.encode(-f64::MAX).1);
            let is_kept = format.special == Special::Infinity;
            assert_eq!(format.encode(f64::INFINITY).1, is_kept, "{format:?}");
        }
        let largest = [65504.0, 57344.0, 448.0, 240.0, 30.0];
        let codes = [
            ffi::kDLFloat,
            ffi::kDLFloat8_e5m2,
            ffi::kDLFloat8_e4m3fn,
            ffi::kDLFloat8_e4m3fnuz,
            ffi::kDLFloat8_e4m3b11fnuz,
        ];
        for (code, largest) in codes.into_iter().zip(largest) {
            let format = Format::of(code.0);
            assert_eq!(format.decode(format.largest()), largest, "{format:?}");
        }
    }

    #[test]
    fn scales_are_powers_of_two() {
        assert_eq!(decode_scale(127), 1.0);
        assert_eq!(decode_scale(0), power(-127));
        assert!(decode_scale(255).is_nan());
    }

    /// The bits that an `f64` has no room for are one bit: else a number a little above the middle of
    /// two codes would become the middle.
    #[test]
    fn the_last_bits_of_a_large_integer_are_one_bit() {
        const HIGH: u64 = 1 << 63;
        for (integer, expected) in [
            (0, 0),
            (1, 1),
            ((1 << 53) - 1, (1 << 53) - 1),
            (1 << 53, 1 << 53),
            ((1 << 53) + 1, (1 << 53) + 2048),
            (HIGH, HIGH),
            (HIGH + 1, HIGH + 2048),
            (HIGH + 2, HIGH + 2048),
            (HIGH + 1024, HIGH + 2048),
            (HIGH + 2047, HIGH + 2048),
            (HIGH + 2048, HIGH + 2048),
            (HIGH + 2049, HIGH + 2048),
            (HIGH + 4097, HIGH + 6144),
            (u64::MAX, u64::MAX - 2047),
        ] {
            assert_eq!(sticky(integer), expected as f64, "{integer:#x}");
        }
        for (integer, expected) in [
            (0, 0.0),
            (1, 1.0),
            (-1, -1.0),
            (i64::MAX, power(63) - 2048.0),
            (i64::MIN + 1, 2048.0 - power(63)),
            (i64::MIN, -power(63)),
        ] {
            let found = sticky_signed(integer);
            assert_eq!(found.to_bits(), f64::to_bits(expected), "{integer}: {found}");
        }
    }

    #[test]
    fn a_large_integer_is_rounded_once() {
        let middle = 1 << 63 | 1 << 55;
        assert_eq!(BF16::of_unsigned(1 << 63), (0x5f00, true));
        assert_eq!(BF16::of_unsigned(middle - 1), (0x5f00, true));
        assert_eq!(BF16::of_unsigned(middle), (0x5f00, true), "the even code");
        assert_eq!(BF16::of_unsigned(middle + 1), (0x5f01, true));
        assert_eq!(BF16::of_unsigned(u64::MAX), (0x5f80, true));
        let middle = 1 << 62 | 1 << 54;
        assert_eq!(BF16::of_signed(-middle), (0xde80, true), "the even code");
        assert_eq!(BF16::of_signed(-middle - 1), (0xde81, true));
        assert_eq!(BF16::of_signed(i64::MIN), (0xdf00, true));
        assert_eq!(F16::of_signed(0), (0, true));
        assert_eq!(F16::of_unsigned(65_519), (0x7bff, true));
        assert_eq!(F16::of_unsigned(65_520), (0x7c00, false));
        assert_eq!(F16::of_unsigned(u64::MAX), (0x7c00, false));
        assert_eq!(F16::of_signed(i64::MIN), (0xfc00, false));
        assert_eq!(E4M3FN::of_signed(-2), (0xc0, true));
    }

    #[cfg(feature = "half")]
    #[test]
    fn formats_of_16_bits_are_those_of_half() {
        for code in (0..=u16::MAX).step_by(STEP * STEP) {
            let (f16, bf16) = (half::f16::from_bits(code), half::bf16::from_bits(code));
            for (value, expected, format) in [
                (f16.to_f64(), f16.is_nan(), Format::of(ffi::kDLFloat.0)),
                (bf16.to_f64(), bf16.is_nan(), Format::of(ffi::kDLBfloat.0)),
            ] {
                let decoded = format.decode(code.into());
                assert!(decoded == value || (decoded.is_nan() && expected), "{code:#x}");
            }
        }
    }
}
