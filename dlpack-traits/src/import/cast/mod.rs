//! Conversions of imported tensors to other numeric types: as a tensor
//! ([`ImportedTensor::cast`](crate::ImportedTensor)), or while they are read ([`ElementsAs`]).

mod elements_as;
mod small_float;
mod sources;
#[cfg(feature = "pyo3")]
mod to_tensor;
mod values;

pub(in crate::import) use elements_as::check_as;
pub use elements_as::{As, Conversion, ElementsAs, Lossless, Lossy, Number};
#[cfg(feature = "pyo3")]
pub(crate) use to_tensor::{CastError, is_beyond};

use crate::dtype::DataType;
use crate::ffi;

/// The kind of a numeric type, in the order in which each can represent the ones before.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Bool,
    Integer,
    Float,
    Complex,
}

/// The kind of a type that this module reads; `None` for others.
pub(crate) fn kind_of(dtype: DataType) -> Option<Kind> {
    if dtype.lanes() != 1 || !dtype.is_well_formed() {
        return None;
    }
    match dtype.code() {
        ffi::kDLBool => Some(Kind::Bool),
        ffi::kDLInt | ffi::kDLUInt if dtype.bits() <= 64 => Some(Kind::Integer),
        ffi::kDLFloat if dtype.bits() > 64 => None,
        ffi::kDLComplex if dtype.bits() > 128 => None,
        ffi::kDLComplex | ffi::kDLBcomplex => Some(Kind::Complex),
        ffi::kDLFloat
        | ffi::kDLBfloat
        | ffi::kDLFloat8_e3m4
        | ffi::kDLFloat8_e4m3
        | ffi::kDLFloat8_e4m3b11fnuz
        | ffi::kDLFloat8_e4m3fn
        | ffi::kDLFloat8_e4m3fnuz
        | ffi::kDLFloat8_e5m2
        | ffi::kDLFloat8_e5m2fnuz
        | ffi::kDLFloat8_e8m0fnu
        | ffi::kDLFloat6_e2m3fn
        | ffi::kDLFloat6_e3m2fn
        | ffi::kDLFloat4_e2m1fn => Some(Kind::Float),
        _ => None,
    }
}

/// Whether values of one type are converted to another: to the same kind, or to one that has all
/// values of it. Integers are compared one by one.
pub(crate) fn is_allowed(from: DataType, to: DataType) -> bool {
    from == to
        || match (kind_of(from), kind_of(to)) {
            (Some(from), Some(to)) => to != Kind::Bool && from <= to,
            _ => false,
        }
}

/// Whether a type is a float or complex, to which numbers are rounded.
fn is_inexact(dtype: DataType) -> bool {
    kind_of(dtype).is_some_and(|kind| kind >= Kind::Float)
}

/// The binary digits of a type: of a float those of its mantissa.
fn digits(dtype: DataType) -> u8 {
    match (dtype.code(), dtype.bits()) {
        (ffi::kDLBool, _) => 1,
        (ffi::kDLFloat, 16) | (ffi::kDLComplex, 32) => 11,
        (ffi::kDLFloat, 32) | (ffi::kDLComplex, 64) => 24,
        (ffi::kDLFloat, 64) | (ffi::kDLComplex, 128) => 53,
        (ffi::kDLBfloat | ffi::kDLBcomplex, _) => 8,
        (ffi::kDLInt, bits) => bits.saturating_sub(1),
        (_, bits) => bits,
    }
}

/// Whether a type has the range of another one: a `bool` only its own, an integer that of as many digits, with a sign if the
/// other has one; a `float16` that of few integers and of no scale, a `bfloat16` that of a `float32`, and
/// a smaller float only its own.
fn has_range(from: DataType, to: DataType) -> bool {
    if kind_of(to) == Some(Kind::Bool) {
        return from == to;
    }
    if kind_of(to) == Some(Kind::Integer) {
        let has_sign = |dtype: DataType| !matches!(dtype.code(), ffi::kDLUInt | ffi::kDLBool);
        return digits(from) <= digits(to) && (has_sign(to) || !has_sign(from));
    }
    if is_inexact(to) && to.bits() <= 8 {
        return from == to;
    }
    let is_half = |dtype| matches!(dtype, DataType::F16 | DataType::COMPLEX32);
    !is_half(to) || is_half(from) || (from.bits() <= 8 && from != DataType::FLOAT8_E8M0FNU)
}

/// Whether every value of one type is one of another.
fn keeps_values(from: DataType, to: DataType) -> bool {
    is_allowed(from, to) && digits(from) <= digits(to) && has_range(from, to)
}

/// The type to which a conversion is advised: the first that keeps the values; if none does, the one that
/// keeps most of them. `None` if there is no type.
pub(crate) fn best_of(found: DataType, expected: &[DataType]) -> Option<DataType> {
    // Of complex numbers the real parts are converted, unless a complex type is accepted.
    let found = match real(found) {
        Some(part) if !expected.iter().any(|to| to.is_complex()) => part,
        _ => found,
    };
    let keeps = |to: &&DataType| keeps_values(found, **to);
    let rank = |to: &&DataType| (is_allowed(found, **to), has_range(found, **to), digits(**to));
    // `max_by_key` returns the last of several.
    let best = expected.iter().find(keeps).or_else(|| expected.iter().rev().max_by_key(rank));
    best.copied()
}

/// The type of the real parts of complex numbers.
fn real(dtype: DataType) -> Option<DataType> {
    match dtype {
        DataType::COMPLEX32 => Some(DataType::F16),
        DataType::BCOMPLEX32 => Some(DataType::BF16),
        DataType::COMPLEX64 => Some(DataType::F32),
        DataType::COMPLEX128 => Some(DataType::F64),
        _ => None,
    }
}

/// Whether numbers of one type are computed as another: if their values are kept, and integers as
/// `float64`s, which is NumPy's rule of a safe cast.
#[cfg(feature = "pyo3")]
pub(crate) fn is_widened(from: DataType, to: DataType) -> bool {
    let is_integer = kind_of(from) == Some(Kind::Integer);
    keeps_values(from, to) || (is_integer && matches!(to, DataType::F64 | DataType::COMPLEX128))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_half_keeps_the_values_of_types_of_its_range() {
        for (from, expected) in [
            (DataType::BOOL, true),
            (DataType::U8, true),
            (DataType::I8, true),
            (DataType::FLOAT8_E5M2, true),
            (DataType::FLOAT6_E3M2FN, true),
            (DataType::F16, true),
            (DataType::BF16, false),
            (DataType::FLOAT8_E8M0FNU, false),
            (DataType::I16, false),
            (DataType::U16, false),
            (DataType::F32, false),
        ] {
            assert_eq!(keeps_values(from, DataType::F16), expected, "{from}");
            assert_eq!(keeps_values(from, DataType::COMPLEX32), expected, "{from}");
            assert!(!keeps_values(from, DataType::FLOAT8_E4M3), "{from}");
        }
        assert!(keeps_values(DataType::FLOAT8_E4M3, DataType::FLOAT8_E4M3));
        assert!(keeps_values(DataType::COMPLEX32, DataType::COMPLEX32));
        assert!(!keeps_values(DataType::BCOMPLEX32, DataType::COMPLEX32));
        assert!(
            has_range(DataType::I64, DataType::BF16) && !has_range(DataType::I16, DataType::F16)
        );
    }

    #[test]
    fn advice_is_for_the_type_that_keeps_most() {
        let of = |found, expected: &[DataType]| best_of(found, expected);
        let (i32, u64) = (DataType::I32, DataType::U64);
        for (found, expected, best) in [
            // The first that keeps all.
            (DataType::U8, &[DataType::F32, i32][..], DataType::F32),
            (DataType::BOOL, &[DataType::U8, i32], DataType::U8),
            (DataType::U32, &[i32, u64, DataType::I64], u64),
            (DataType::I8, &[u64, DataType::I16], DataType::I16),
            // The range before the digits.
            (u64, &[DataType::F32, DataType::F64, DataType::I64], DataType::F64),
            (DataType::I64, &[u64, i32, DataType::F32], DataType::F32),
            (DataType::F64, &[DataType::F16, DataType::BF16], DataType::BF16),
            // Integers only if no float is accepted.
            (DataType::F64, &[DataType::U8, DataType::F32], DataType::F32),
            (DataType::F64, &[u64, DataType::I64], DataType::I64),
            (DataType::F64, &[DataType::U8, DataType::BOOL], DataType::U8),
            (DataType::COMPLEX64, &[DataType::BOOL, DataType::I8], DataType::I8),
            // The real parts, unless a complex type is accepted.
            (DataType::COMPLEX64, &[u64, DataType::F64, DataType::F32], DataType::F64),
            (DataType::COMPLEX128, &[DataType::F64, DataType::COMPLEX64], DataType::COMPLEX64),
            (DataType::COMPLEX32, &[DataType::BF16, DataType::F16], DataType::F16),
            (DataType::BCOMPLEX32, &[DataType::F16, DataType::BF16], DataType::BF16),
        ] {
            assert_eq!(of(found, expected), Some(best), "{found} of {expected:?}");
        }
        assert_eq!(of(u64, &[]), None);
    }
}
