//! Data types of elements, as run-time values: [`DataType`].
//!
//! A new type code is a number in [`ffi`], named types in `data_types!`, and its widths in
//! `widths`, or `is_narrower_than_a_byte`. If it is the highest code, it is
//! `DataType::LAST_CODE`. The derive has the names again (`dtype_names`), and the tests have the
//! widths again (`tests/rust/bounds/oracle.rs`, `quality/fuzz/src/judge.rs`).

use core::fmt;

use crate::ffi::{self, DLDataType, DLDataTypeCode};

/// The data type of a tensor's elements: a type code, the width of a lane in bits, and a
/// number of lanes.
///
/// [`Display`](fmt::Display) prints the name that Python libraries use.
///
/// ```
/// use dlpack_traits::DataType;
///
/// assert_eq!(DataType::F32.to_string(), "float32");
/// assert_eq!(DataType::F32.with_lanes(4).to_string(), "float32x4");
/// assert_eq!(DataType::FLOAT4_E2M1FN.bits(), 4);
/// ```
#[doc(alias = "dtype")]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct DataType {
    /// The code in the lowest byte, then the bits of a lane, then the lanes. One number, because a
    /// comparison of three fields takes three branches, and a struct of them is taken apart and put
    /// together again (measured: 6 instructions per borrowed tensor of a run-time dtype).
    packed: u32,
}

/// The [`widths`] of all type codes, of those too that do not exist (measured: a comparison with the
/// last code takes 4 instructions more than a longer table).
#[expect(clippy::indexing_slicing, reason = "a code is a `u8`")]
const WIDTHS: [u64; 256] = {
    let (mut all, mut code) = ([0; 256], 0_u8);
    loop {
        all[code as usize] = widths(DLDataTypeCode(code));
        code = match code.checked_add(1) {
            Some(next) => next,
            None => break,
        };
    }
    all
};

/// The widths of a type code in bytes, as a set of bits: bit 4 states that lanes of 4 bytes exist.
/// [`PAIRS`] is in the same number (measured: a comparison of the code takes 5 instructions more).
const fn widths(code: DLDataTypeCode) -> u64 {
    const B1: u64 = 1 << 1;
    const B2: u64 = 1 << 2;
    const B4: u64 = 1 << 4;
    const B8: u64 = 1 << 8;
    const B16: u64 = 1 << 16;
    match code {
        ffi::kDLInt | ffi::kDLUInt | ffi::kDLOpaqueHandle => B1 | B2 | B4 | B8 | B16,
        ffi::kDLFloat => B2 | B4 | B8 | B16,
        ffi::kDLBfloat => B2,
        ffi::kDLComplex => B4 | B8 | B16 | PAIRS,
        ffi::kDLBcomplex => B4 | PAIRS,
        ffi::kDLBool
        | ffi::kDLFloat8_e3m4
        | ffi::kDLFloat8_e4m3
        | ffi::kDLFloat8_e4m3b11fnuz
        | ffi::kDLFloat8_e4m3fn
        | ffi::kDLFloat8_e4m3fnuz
        | ffi::kDLFloat8_e5m2
        | ffi::kDLFloat8_e5m2fnuz
        | ffi::kDLFloat8_e8m0fnu => B1,
        _ => 0,
    }
}

/// Marks the [`widths`] of complex numbers, whose lanes have two parts. No lane has 32 bytes.
const PAIRS: u64 = 1 << 32;

/// An element of whole bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WholeBytes {
    /// Its size in bytes.
    pub(crate) size: usize,
    /// Size in bytes of a lane, or of one part of a complex number: a power of two.
    pub(crate) part: usize,
}

/// Defines the named constants, and the table from which names are printed and parsed.
macro_rules! data_types {
    ($($(#[$doc:meta])* $constant:ident = $code:ident, $bits:literal, $name:literal;)+) => {
        impl DataType {
            $($(#[$doc])* pub const $constant: DataType = DataType::new(ffi::$code, $bits, 1);)+

            /// Every type that has a constant here, grouped by kind.
            ///
            /// ```
            /// use dlpack_traits::DataType;
            /// assert!(DataType::ALL.contains(&DataType::BF16));
            /// ```
            pub const ALL: &'static [DataType] = &[$(DataType::$constant),+];
        }

        /// The name of a one-lane type, if it has a constant.
        const fn known_name(code: DLDataTypeCode, bits: u8) -> Option<&'static str> {
            match (code, bits) {
                $((ffi::$code, $bits) => Some($name),)+
                _ => None,
            }
        }
    };
}

data_types! {
    /// Signed integer, 8 bits.
    I8 = kDLInt, 8, "int8";
    /// Signed integer, 16 bits.
    I16 = kDLInt, 16, "int16";
    /// Signed integer, 32 bits.
    I32 = kDLInt, 32, "int32";
    /// Signed integer, 64 bits.
    I64 = kDLInt, 64, "int64";
    /// Unsigned integer, 8 bits.
    U8 = kDLUInt, 8, "uint8";
    /// Unsigned integer, 16 bits.
    U16 = kDLUInt, 16, "uint16";
    /// Unsigned integer, 32 bits.
    U32 = kDLUInt, 32, "uint32";
    /// Unsigned integer, 64 bits.
    U64 = kDLUInt, 64, "uint64";
    /// Float, 16 bits (IEEE half precision).
    F16 = kDLFloat, 16, "float16";
    /// Float, 32 bits (IEEE single precision).
    F32 = kDLFloat, 32, "float32";
    /// Float, 64 bits (IEEE double precision).
    F64 = kDLFloat, 64, "float64";
    /// Float, 16 bits, with the exponent range of `float32` (bfloat16).
    BF16 = kDLBfloat, 16, "bfloat16";
    /// Complex, 32 bits: two `float16`.
    COMPLEX32 = kDLComplex, 32, "complex32";
    /// Complex, 32 bits: two `bfloat16`.
    BCOMPLEX32 = kDLBcomplex, 32, "bcomplex32";
    /// Complex, 64 bits: two `float32`.
    COMPLEX64 = kDLComplex, 64, "complex64";
    /// Complex, 128 bits: two `float64`.
    COMPLEX128 = kDLComplex, 128, "complex128";
    /// Boolean, 8 bits: 0 or 1.
    BOOL = kDLBool, 8, "bool";
    /// 8-bit float, 3 exponent and 4 mantissa bits.
    FLOAT8_E3M4 = kDLFloat8_e3m4, 8, "float8_e3m4";
    /// 8-bit float, 4 exponent and 3 mantissa bits, with infinities.
    FLOAT8_E4M3 = kDLFloat8_e4m3, 8, "float8_e4m3";
    /// 8-bit float, e4m3, exponent bias 11, finite, one NaN, no negative zero.
    FLOAT8_E4M3B11FNUZ = kDLFloat8_e4m3b11fnuz, 8, "float8_e4m3b11fnuz";
    /// 8-bit float, e4m3, finite: the one that PyTorch and ONNX mean by "e4m3".
    FLOAT8_E4M3FN = kDLFloat8_e4m3fn, 8, "float8_e4m3fn";
    /// 8-bit float, e4m3, finite, one NaN, no negative zero.
    FLOAT8_E4M3FNUZ = kDLFloat8_e4m3fnuz, 8, "float8_e4m3fnuz";
    /// 8-bit float, 5 exponent and 2 mantissa bits.
    FLOAT8_E5M2 = kDLFloat8_e5m2, 8, "float8_e5m2";
    /// 8-bit float, e5m2, finite, one NaN, no negative zero.
    FLOAT8_E5M2FNUZ = kDLFloat8_e5m2fnuz, 8, "float8_e5m2fnuz";
    /// 8-bit power of two, used as a scale.
    FLOAT8_E8M0FNU = kDLFloat8_e8m0fnu, 8, "float8_e8m0fnu";
    /// 6-bit float, 2 exponent and 3 mantissa bits.
    FLOAT6_E2M3FN = kDLFloat6_e2m3fn, 6, "float6_e2m3fn";
    /// 6-bit float, 3 exponent and 2 mantissa bits.
    FLOAT6_E3M2FN = kDLFloat6_e3m2fn, 6, "float6_e3m2fn";
    /// 4-bit float, 2 exponent bits and 1 mantissa bit.
    FLOAT4_E2M1FN = kDLFloat4_e2m1fn, 4, "float4_e2m1fn";
}

impl DataType {
    /// The highest type code of the standard.
    pub(crate) const LAST_CODE: DLDataTypeCode = ffi::kDLBcomplex;

    /// Creates a type from its three parts, as the standard stores them.
    #[inline]
    pub const fn new(code: DLDataTypeCode, bits: u8, lanes: u16) -> Self {
        let [low, high] = lanes.to_le_bytes();
        Self { packed: u32::from_le_bytes([code.0, bits, low, high]) }
    }

    /// The same type code and width with another number of lanes.
    #[must_use]
    #[inline]
    pub const fn with_lanes(self, lanes: u16) -> Self {
        Self::new(self.code(), self.bits(), lanes)
    }

    /// The type code.
    #[inline]
    pub const fn code(self) -> DLDataTypeCode {
        let [code, ..] = self.packed.to_le_bytes();
        DLDataTypeCode(code)
    }

    /// Bits of one lane.
    #[inline]
    pub const fn bits(self) -> u8 {
        let [_, bits, ..] = self.packed.to_le_bytes();
        bits
    }

    /// Lanes of one element; 1 for scalars.
    #[inline]
    pub const fn lanes(self) -> u16 {
        let [_, _, low, high] = self.packed.to_le_bytes();
        u16::from_le_bytes([low, high])
    }

    /// Bits of one element, all lanes together, packed.
    #[inline]
    pub const fn element_bits(self) -> u32 {
        // 255 * 65,535 fits in 32 bits.
        (self.bits() as u32).wrapping_mul(self.lanes() as u32)
    }

    /// Size of one element in bytes; `None` if an element is not a whole number of bytes,
    /// or has no bits at all.
    ///
    /// ```
    /// use dlpack_traits::DataType;
    /// assert_eq!(DataType::COMPLEX64.byte_size(), Some(8));
    /// assert_eq!(DataType::FLOAT4_E2M1FN.byte_size(), None);
    /// assert_eq!(DataType::FLOAT4_E2M1FN.with_lanes(2).byte_size(), Some(1));
    /// ```
    #[inline]
    pub const fn byte_size(self) -> Option<usize> {
        let bits = self.element_bits();
        if bits == 0 || bits % 8 != 0 { None } else { Some((bits / 8) as usize) }
    }

    /// Whether this crate supports this type code with this width (those of DLPack 1.3, and
    /// `BCOMPLEX32`), and there is at least one lane.
    ///
    /// Exports reject a type that is not well-formed: a consumer would read memory that it
    /// cannot interpret.
    ///
    /// ```
    /// use dlpack_traits::{DataType, ffi};
    /// assert!(DataType::F64.is_well_formed());
    /// assert!(DataType::new(ffi::kDLUInt, 4, 1).is_well_formed()); // packed
    /// assert!(!DataType::new(ffi::kDLFloat6_e2m3fn, 8, 1).is_well_formed());
    /// assert!(!DataType::F32.with_lanes(0).is_well_formed());
    /// ```
    #[inline]
    pub const fn is_well_formed(self) -> bool {
        self.whole_bytes().is_some() || (self.lanes() != 0 && self.is_narrower_than_a_byte())
    }

    /// Size and alignment of one element, if the standard defines this type code with this width,
    /// and the width of a lane is a number of whole bytes.
    #[inline(always)]
    pub(crate) const fn whole_bytes(self) -> Option<WholeBytes> {
        let (bits, lanes) = (self.bits(), self.lanes());
        #[expect(clippy::indexing_slicing, reason = "a code is a `u8`")]
        let widths = WIDTHS[self.code().0 as usize];
        let bytes = (bits >> 3) as u32;
        if lanes != 0 && bits % 8 == 0 && widths >> bytes & 1 != 0 {
            // 31 * 65,535 fits in 32 bits.
            let size = bytes.wrapping_mul(lanes as u32) as usize;
            Some(WholeBytes { size, part: (bytes >> (widths >> 32)) as usize })
        } else {
            None
        }
    }

    /// Whether the standard defines this type code with this width, of less than a byte.
    #[cold]
    const fn is_narrower_than_a_byte(self) -> bool {
        matches!(
            (self.code(), self.bits()),
            (ffi::kDLInt | ffi::kDLUInt, 1 | 2 | 4)
                | (ffi::kDLBool, 1)
                | (ffi::kDLFloat4_e2m1fn, 4)
                | (ffi::kDLFloat6_e2m3fn | ffi::kDLFloat6_e3m2fn, 6)
        )
    }

    /// Whether an element has a real and an imaginary part, each of half of the bits.
    ///
    /// ```
    /// use dlpack_traits::DataType;
    /// assert!(DataType::COMPLEX64.is_complex() && DataType::BCOMPLEX32.is_complex());
    /// assert!(!DataType::BF16.is_complex());
    /// ```
    #[inline]
    pub const fn is_complex(self) -> bool {
        matches!(self.code(), ffi::kDLComplex | ffi::kDLBcomplex)
    }

    /// Parses the name of a type that has a constant here, with lanes (`float32x4`); `None`
    /// for any other name.
    ///
    /// ```
    /// use dlpack_traits::DataType;
    /// assert_eq!(DataType::from_name("bfloat16"), Some(DataType::BF16));
    /// assert_eq!(DataType::from_name("float32x4"), Some(DataType::F32.with_lanes(4)));
    /// assert_eq!(DataType::from_name("float80"), None);
    /// ```
    pub fn from_name(name: &str) -> Option<Self> {
        let named = |name| {
            let mut known = Self::ALL.iter().copied();
            known.find(|dtype| known_name(dtype.code(), dtype.bits()) == Some(name))
        };
        named(name).or_else(|| {
            let (name, lanes) = name.rsplit_once('x')?;
            let lanes = lanes.parse().ok().filter(|&lanes| lanes > 1)?;
            named(name).map(|dtype| dtype.with_lanes(lanes))
        })
    }

    /// The name of a type with one lane that has a constant here.
    #[cfg(feature = "stubs")]
    pub(crate) const fn name(self) -> Option<&'static str> {
        if self.lanes() == 1 { known_name(self.code(), self.bits()) } else { None }
    }

    /// Converts the type to the C struct.
    #[inline]
    pub const fn to_ffi(self) -> DLDataType {
        DLDataType { code: self.code(), bits: self.bits(), lanes: self.lanes() }
    }
}

impl From<DLDataType> for DataType {
    #[inline]
    fn from(DLDataType { code, bits, lanes }: DLDataType) -> Self {
        Self::new(code, bits, lanes)
    }
}

impl From<DataType> for DLDataType {
    fn from(dtype: DataType) -> Self {
        dtype.to_ffi()
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DLDataType { code, bits, lanes } = self.to_ffi();
        match (known_name(code, bits), code) {
            (Some(name), _) => f.write_str(name)?,
            (None, ffi::kDLInt) => write!(f, "int{bits}")?,
            (None, ffi::kDLUInt) => write!(f, "uint{bits}")?,
            (None, ffi::kDLFloat) => write!(f, "float{bits}")?,
            (None, ffi::kDLBool) => write!(f, "bool{bits}")?,
            (None, ffi::kDLComplex) => write!(f, "complex{bits}")?,
            (None, ffi::kDLOpaqueHandle) => write!(f, "handle{bits}")?,
            (None, DLDataTypeCode(code)) => write!(f, "code{code}_{bits}bits")?,
        }
        if lanes == 1 { Ok(()) } else { write!(f, "x{lanes}") }
    }
}

impl fmt::Debug for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn every_constant_is_well_formed_and_named() {
        for &dtype in DataType::ALL {
            assert!(dtype.is_well_formed(), "{dtype}");
            assert_eq!(DataType::from_name(&dtype.to_string()), Some(dtype));
        }
    }

    #[test]
    fn unknown_codes_print_and_are_refused() {
        let unknown = DataType::new(DLDataTypeCode(200), 8, 1);
        assert_eq!(unknown.to_string(), "code200_8bits");
        assert!(!unknown.is_well_formed());
        assert_eq!(DataType::new(ffi::kDLInt, 4, 2).to_string(), "int4x2");
    }

    #[test]
    fn the_table_has_the_widths_of_each_code() {
        for code in 0..=u8::MAX {
            let code = DLDataTypeCode(code);
            assert_eq!(WIDTHS[usize::from(code.0)], widths(code), "{code:?}");
        }
    }

    #[test]
    fn widths_are_those_of_the_standard() {
        let widths =
            |code| (0..=255).filter(move |&bits| DataType::new(code, bits, 1).is_well_formed());
        assert!(widths(ffi::kDLUInt).eq([1, 2, 4, 8, 16, 32, 64, 128]));
        assert!(widths(ffi::kDLOpaqueHandle).eq([8, 16, 32, 64, 128]));
        assert!(widths(ffi::kDLFloat).eq([16, 32, 64, 128]));
        assert!(widths(ffi::kDLComplex).eq([32, 64, 128]));
        assert!(widths(ffi::kDLBool).eq([1, 8]));
        assert!(widths(ffi::kDLFloat6_e2m3fn).eq([6]));
        assert!(widths(ffi::kDLFloat4_e2m1fn).eq([4]));
        assert!(widths(ffi::kDLBfloat).eq([16]));
        assert!(widths(ffi::kDLBcomplex).eq([32]));
        assert!(widths(ffi::kDLFloat8_e4m3).eq([8]));
    }

    #[test]
    fn sizes_in_whole_bytes_are_those_of_well_formed_types() {
        // Miri takes minutes for all of them.
        let (last, step) = if cfg!(miri) { (31, 4) } else { (255, 1) };
        for code in 0..=last {
            for bits in (0..=255).step_by(step) {
                for lanes in [0, 1, 2, u16::MAX] {
                    let dtype = DataType::new(DLDataTypeCode(code), bits, lanes);
                    let whole = dtype.is_well_formed() && bits % 8 == 0;
                    let size = dtype.byte_size().filter(|_| whole);
                    assert_eq!(dtype.whole_bytes().map(|it| it.size), size, "{dtype}");
                }
            }
        }
    }

    #[test]
    fn complex_types_have_a_real_and_an_imaginary_part() {
        for dtype in DataType::ALL {
            assert_eq!(dtype.is_complex(), dtype.to_string().contains("complex"), "{dtype}");
        }
    }

    #[test]
    fn lanes_are_read_as_they_are_printed() {
        assert_eq!(DataType::from_name("float32x2"), Some(DataType::F32.with_lanes(2)));
        // One lane is not printed, and zero lanes are invalid.
        for wrong in ["float32x1", "float32x0", "float32x", "float32x65536", "x4"] {
            assert_eq!(DataType::from_name(wrong), None, "{wrong}");
        }
    }
}
