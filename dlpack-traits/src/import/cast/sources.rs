//! The elements of every numeric type as values of the widest type of their kind: [`read_by`].

use super::small_float::{
    BComplex32, BF16, Bits, Complex32, E2M1, E2M3, E3M2, E3M4, E4M3, E4M3B11FNUZ, E4M3FN, E4M3FNUZ,
    E5M2, E5M2FNUZ, F16, Format, decode_scale,
};
use super::values::Value;
use crate::dtype::DataType;
use crate::element::{Complex, Readable};
use crate::error::Error;
use crate::ffi;

/// What is done with elements, whatever they are stored as.
pub(super) trait Reader {
    /// Elements that are stored as `S`s, with these values.
    fn stored<S: Readable, W: Value>(self, value: impl Fn(S) -> W) -> Result<(), Error>;

    /// Elements of fewer than 8 bits, with the values of these bits.
    fn packed<W: Value>(self, value: impl Fn(u64) -> W) -> Result<(), Error>;
}

/// Calls a reader for elements of that type.
///
/// # Errors
///
/// Those of the reader; [`Error::UnsupportedDType`] for elements that are not numbers.
pub(super) fn read_by(dtype: DataType, reader: impl Reader) -> Result<(), Error> {
    match dtype {
        DataType::BOOL => reader.stored(<i64 as From<bool>>::from),
        DataType::I8 => reader.stored(<i64 as From<i8>>::from),
        DataType::I16 => reader.stored(<i64 as From<i16>>::from),
        DataType::I32 => reader.stored(<i64 as From<i32>>::from),
        DataType::I64 => reader.stored(|value: i64| value),
        DataType::U8 => reader.stored(<i64 as From<u8>>::from),
        DataType::U16 => reader.stored(<i64 as From<u16>>::from),
        DataType::U32 => reader.stored(<i64 as From<u32>>::from),
        DataType::U64 => reader.stored(|value: u64| value),
        DataType::F16 => reader.stored(F16::value),
        DataType::BF16 => reader.stored(BF16::value),
        DataType::F32 => reader.stored(<f64 as From<f32>>::from),
        DataType::F64 => reader.stored(|value: f64| value),
        DataType::FLOAT8_E3M4 => reader.stored(E3M4::value),
        DataType::FLOAT8_E4M3 => reader.stored(E4M3::value),
        DataType::FLOAT8_E4M3B11FNUZ => reader.stored(E4M3B11FNUZ::value),
        DataType::FLOAT8_E4M3FN => reader.stored(E4M3FN::value),
        DataType::FLOAT8_E4M3FNUZ => reader.stored(E4M3FNUZ::value),
        DataType::FLOAT8_E5M2 => reader.stored(E5M2::value),
        DataType::FLOAT8_E5M2FNUZ => reader.stored(E5M2FNUZ::value),
        DataType::FLOAT8_E8M0FNU => reader.stored(decode_scale),
        DataType::FLOAT6_E2M3FN => reader.packed(E2M3::packed),
        DataType::FLOAT6_E3M2FN => reader.packed(E3M2::packed),
        DataType::FLOAT4_E2M1FN => reader.packed(E2M1::packed),
        DataType::COMPLEX32 => reader.stored(Complex32::complex),
        DataType::BCOMPLEX32 => reader.stored(BComplex32::complex),
        DataType::COMPLEX64 => {
            reader.stored(|z: Complex<f32>| Complex { re: f64::from(z.re), im: f64::from(z.im) })
        }
        DataType::COMPLEX128 => reader.stored(|value: Complex<f64>| value),
        dtype if dtype.lanes() == 1 && (1..8).contains(&dtype.bits()) => {
            let unused = u64::BITS.wrapping_sub(dtype.bits().into());
            match dtype.code() {
                ffi::kDLUInt => reader.packed(|bits| bits),
                ffi::kDLInt =>
                {
                    #[expect(clippy::cast_possible_wrap, reason = "the highest bit is the sign")]
                    reader.packed(move |bits| (bits.wrapping_shl(unused) as i64) >> unused)
                }
                _ => Err(Error::UnsupportedDType { dtype }),
            }
        }
        dtype => Err(Error::UnsupportedDType { dtype }),
    }
}

impl<const CODE: u8, U: Into<u32>> Bits<CODE, U> {
    #[inline(always)]
    fn value(bits: U) -> f64 {
        Format::of(CODE).decode(bits.into())
    }
}

impl<const CODE: u8> Bits<CODE, u8> {
    fn packed(bits: u64) -> f64 {
        #[expect(clippy::cast_possible_truncation, reason = "there are fewer than 8 bits")]
        Format::of(CODE).decode(bits as u32)
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

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::{DLPackExport, ImportedTensor, OwnedTensor};

    /// States whether elements are read at all.
    struct Any;

    impl Reader for Any {
        fn stored<S: Readable, W: Value>(self, _: impl Fn(S) -> W) -> Result<(), Error> {
            Ok(())
        }

        fn packed<W: Value>(self, _: impl Fn(u64) -> W) -> Result<(), Error> {
            Ok(())
        }
    }

    #[test]
    fn integers_are_read_if_they_have_one_lane_and_at_most_64_bits() {
        for code in [ffi::kDLInt, ffi::kDLUInt] {
            for bits in [1, 2, 4, 7, 8, 16, 32, 64] {
                assert_eq!(read_by(DataType::new(code, bits, 1), Any), Ok(()), "{bits}");
            }
            for (bits, lanes) in [(128, 1), (0, 1), (4, 2), (8, 2), (16, 2), (64, 2)] {
                let dtype = DataType::new(code, bits, lanes);
                assert_eq!(read_by(dtype, Any), Err(Error::UnsupportedDType { dtype }));
            }
        }
        for code in [ffi::kDLBool, ffi::kDLOpaqueHandle] {
            let dtype = DataType::new(code, 1, 1);
            assert_eq!(read_by(dtype, Any), Err(Error::UnsupportedDType { dtype }));
        }
    }

    #[test]
    fn elements_are_stored_as_bits_of_their_size() {
        fn check<T: Readable>(tensor: &ImportedTensor) {
            let (requested, found) = (T::DTYPE, tensor.dtype());
            let error = Some(Error::ElementMismatch { requested, found });
            assert_eq!(tensor.stored_as::<T>().err(), error);
        }
        let floats = OwnedTensor::from_vec(vec![1.0_f32, -0.0]).into_dlpack().unwrap();
        let floats = floats.import().unwrap();
        let bits = floats.stored_as::<u32>().unwrap();
        assert_eq!(bits.to_vec(), Ok(vec![0x3f80_0000, 0x8000_0000]));
        check::<u16>(&floats);
        check::<[u8; 4]>(&floats);
        // Not every byte is a `bool`.
        let bytes = OwnedTensor::from_vec(vec![2_u8]).into_dlpack().unwrap().import().unwrap();
        check::<bool>(&bytes);
    }
}
