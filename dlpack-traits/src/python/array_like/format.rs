//! The names of element types in the buffer protocol and the array interface: [`Format`].

use alloc::format;
use alloc::string::String;
use core::ffi::{CStr, c_long};

use crate::dtype::DataType;

/// The names of an element type that the module `struct` of Python, or NumPy, has a code for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Format {
    /// The code of the buffer protocol.
    pub(super) code: &'static CStr,
    /// The kind in the array interface.
    kind: char,
    pub(super) size: usize,
}

/// The formats. NumPy's default type of 8-byte integers is `long` where `long` has 8 bytes,
/// and so is ours.
const FORMATS: [(DataType, &CStr, char); 14] = [
    (DataType::BOOL, c"?", 'b'),
    (DataType::I8, c"b", 'i'),
    (DataType::I16, c"h", 'i'),
    (DataType::I32, c"i", 'i'),
    (DataType::I64, if LONG_IS_8 { c"l" } else { c"q" }, 'i'),
    (DataType::U8, c"B", 'u'),
    (DataType::U16, c"H", 'u'),
    (DataType::U32, c"I", 'u'),
    (DataType::U64, if LONG_IS_8 { c"L" } else { c"Q" }, 'u'),
    (DataType::F16, c"e", 'f'),
    (DataType::F32, c"f", 'f'),
    (DataType::F64, c"d", 'f'),
    (DataType::COMPLEX64, c"Zf", 'c'),
    (DataType::COMPLEX128, c"Zd", 'c'),
];

const LONG_IS_8: bool = size_of::<c_long>() == 8;

impl Format {
    /// Returns `None` for a type without a code, such as `bfloat16`, and for one with lanes.
    pub(super) fn of(dtype: DataType) -> Option<Self> {
        let &(_, code, kind) = FORMATS.iter().find(|(known, ..)| *known == dtype)?;
        Some(Self { code, kind, size: dtype.byte_size()? })
    }

    /// The name in the array interface, such as `<f4`.
    pub(super) fn type_string(self) -> String {
        let order = match self.size {
            1 => '|',
            _ if cfg!(target_endian = "little") => '<',
            _ => '>',
        };
        format!("{order}{}{}", self.kind, self.size)
    }
}
