//! Floats of 4, 6 and 8 bits: the value of each bit pattern.

use dlpack_traits::DataType;

/// A format of small floats.
struct Format {
    dtype: DataType,
    /// Width of the exponent and of the mantissa, in bits.
    exponent: u32,
    mantissa: u32,
    bias: i32,
    special: Special,
}

/// Which patterns are not finite numbers.
#[derive(PartialEq)]
enum Special {
    /// The highest exponent is for infinities and NaNs, as in IEEE 754.
    Ieee,
    /// All ones is NaN, of either sign.
    AllOnes,
    /// Negative zero is NaN.
    NegativeZero,
    /// None at all.
    None,
}

/// The formats, by their element type. `float8_e8m0fnu` has no sign and is
/// read apart.
const FORMATS: [Format; 10] = [
    format(DataType::FLOAT8_E3M4, 3, 4, 3, Special::Ieee),
    format(DataType::FLOAT8_E4M3, 4, 3, 7, Special::Ieee),
    format(DataType::FLOAT8_E4M3B11FNUZ, 4, 3, 11, Special::NegativeZero),
    format(DataType::FLOAT8_E4M3FN, 4, 3, 7, Special::AllOnes),
    format(DataType::FLOAT8_E4M3FNUZ, 4, 3, 8, Special::NegativeZero),
    format(DataType::FLOAT8_E5M2, 5, 2, 15, Special::Ieee),
    format(DataType::FLOAT8_E5M2FNUZ, 5, 2, 16, Special::NegativeZero),
    format(DataType::FLOAT6_E2M3FN, 2, 3, 1, Special::None),
    format(DataType::FLOAT6_E3M2FN, 3, 2, 3, Special::None),
    format(DataType::FLOAT4_E2M1FN, 2, 1, 1, Special::None),
];

const fn format(
    dtype: DataType,
    exponent: u32,
    mantissa: u32,
    bias: i32,
    special: Special,
) -> Format {
    Format { dtype, exponent, mantissa, bias, special }
}

/// The value of a pattern of bits, if `dtype` is a small float.
pub(crate) fn decode(dtype: DataType, bits: u8) -> Option<f64> {
    if dtype == DataType::FLOAT8_E8M0FNU {
        return Some(if bits == 255 { f64::NAN } else { f64::from(i32::from(bits) - 127).exp2() });
    }
    let format = FORMATS.iter().find(|format| format.dtype == dtype)?;
    let width = format.exponent + format.mantissa;
    let magnitude = u32::from(bits) & ((1 << width) - 1);
    let negative = u32::from(bits) >> width & 1 == 1;
    let exponent = magnitude >> format.mantissa;
    let mantissa = magnitude & ((1 << format.mantissa) - 1);
    let highest = (1 << format.exponent) - 1;
    match format.special {
        Special::Ieee if exponent == highest && mantissa == 0 => {
            return Some(if negative { f64::NEG_INFINITY } else { f64::INFINITY });
        }
        Special::Ieee if exponent == highest => return Some(f64::NAN),
        Special::AllOnes if magnitude == (1 << width) - 1 => return Some(f64::NAN),
        Special::NegativeZero if negative && magnitude == 0 => return Some(f64::NAN),
        _ => {}
    }
    let fraction = f64::from(mantissa) / f64::from(1 << format.mantissa);
    let value = if exponent == 0 {
        fraction * f64::from(1 - format.bias).exp2()
    } else {
        (1.0 + fraction) * (f64::from(exponent) - f64::from(format.bias)).exp2()
    };
    Some(if negative { -value } else { value })
}

/// The pattern of bits that is nearest to a value, if `dtype` is a small
/// float: of two that are as near, the even one; beyond the largest, infinity
/// or NaN where there is one, else the largest.
pub(crate) fn encode(dtype: DataType, value: f64) -> Option<u8> {
    decode(dtype, 0)?;
    let patterns = 0..=u8::try_from((1_u32 << dtype.bits()) - 1).ok()?;
    let decoded = |&bits: &u8| decode(dtype, bits).unwrap_or(f64::NAN);
    if value.is_nan() {
        return Some(patterns.clone().find(|bits| decoded(bits).is_nan()).unwrap_or(0));
    }
    if value.is_infinite() {
        let same = patterns.clone().find(|bits| decoded(bits).total_cmp(&value).is_eq());
        let not_a_number = || patterns.clone().find(|bits| decoded(bits).is_nan());
        if let Some(bits) = same.or_else(not_a_number) {
            return Some(bits);
        }
    }
    let distance = |bits: &u8| (decoded(bits) - value).abs();
    let same_sign = |bits: &u8| decoded(bits).is_sign_negative() == value.is_sign_negative();
    patterns.filter(|bits| decoded(bits).is_finite()).min_by(|a, b| {
        let nearest = distance(a).total_cmp(&distance(b));
        nearest.then(same_sign(b).cmp(&same_sign(a))).then((a & 1).cmp(&(b & 1)))
    })
}
