//! Conversions to types of 16 and 8 bits that Rust does not have.

use super::small_float::{Bits, Format};
use super::values::{Narrow, complex};
use crate::dtype::DataType;
use crate::element::{AnyBits, Complex};
use crate::ffi::DLDataTypeCode;

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
