//! The types of elements in hand-written floors.
//!
//! `quality/instructions` includes this file, as it does `floor.rs`.

use dlpack_traits::DataType;
use dlpack_traits::ffi::{self, DLDataType};

/// A type of elements.
#[derive(Clone, Copy)]
pub(crate) struct Element {
    pub(crate) dtype: DLDataType,
    /// In bytes.
    pub(crate) size: usize,
    /// In bytes: a power of two.
    pub(crate) align: usize,
}

impl Element {
    const fn of(dtype: DataType, size: usize) -> Self {
        Self { dtype: dtype.to_ffi(), size, align: size }
    }

    /// `None` for a type that does not exist, of opaque handles, or with lanes of less than a
    /// byte.
    #[inline(always)]
    pub(crate) fn new(dtype: DLDataType) -> Option<Self> {
        // The widths of each code in bytes, as a set of bits.
        const WIDTHS: [u32; 19] = {
            const WHOLE: u32 = 1 << 1 | 1 << 2 | 1 << 4 | 1 << 8 | 1 << 16;
            let mut widths = [1 << 1; 19];
            widths[ffi::kDLInt.0 as usize] = WHOLE;
            widths[ffi::kDLUInt.0 as usize] = WHOLE;
            widths[ffi::kDLFloat.0 as usize] = 1 << 2 | 1 << 4 | 1 << 8 | 1 << 16;
            widths[ffi::kDLBfloat.0 as usize] = 1 << 2;
            widths[ffi::kDLComplex.0 as usize] = 1 << 4 | 1 << 8 | 1 << 16;
            widths[ffi::kDLBcomplex.0 as usize] = 1 << 4;
            widths[ffi::kDLOpaqueHandle.0 as usize] = 0;
            widths[ffi::kDLFloat6_e2m3fn.0 as usize] = 0;
            widths[ffi::kDLFloat6_e3m2fn.0 as usize] = 0;
            widths[ffi::kDLFloat4_e2m1fn.0 as usize] = 0;
            widths
        };
        let widths = *WIDTHS.get(usize::from(dtype.code.0))?;
        let width = dtype.bits / 8;
        if dtype.bits % 8 != 0 || widths >> width & 1 == 0 || dtype.lanes == 0 {
            return None;
        }
        let (width, lanes) = (usize::from(width), usize::from(dtype.lanes));
        Some(Self { dtype, size: width * lanes, align: width })
    }

    #[inline(always)]
    pub(crate) fn is_aligned(self, first: *const u8) -> bool {
        first.addr() & (self.align - 1) == 0
    }
}

pub(crate) const F32: Element = Element::of(DataType::F32, 4);
pub(crate) const U8: Element = Element::of(DataType::U8, 1);
