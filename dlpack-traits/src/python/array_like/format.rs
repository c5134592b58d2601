//! The names of element types in the buffer protocol and the array interface: [`Format`].

use core::ffi::{CStr, c_long};

use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::dtype::DataType;

/// The names of an element type that the module `struct` of Python, or NumPy, has a code for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Format {
    /// The code of the buffer protocol.
    pub(super) code: &'static CStr,
    /// The kind and the size in the array interface.
    name: &'static str,
    pub(super) size: usize,
}

/// The formats. NumPy's default type of 8-byte integers is `long` where `long` has 8 bytes,
/// and so is ours.
const FORMATS: [(DataType, &CStr, &str); 14] = [
    (DataType::BOOL, c"?", "b1"),
    (DataType::I8, c"b", "i1"),
    (DataType::I16, c"h", "i2"),
    (DataType::I32, c"i", "i4"),
    (DataType::I64, if LONG_IS_8 { c"l" } else { c"q" }, "i8"),
    (DataType::U8, c"B", "u1"),
    (DataType::U16, c"H", "u2"),
    (DataType::U32, c"I", "u4"),
    (DataType::U64, if LONG_IS_8 { c"L" } else { c"Q" }, "u8"),
    (DataType::F16, c"e", "f2"),
    (DataType::F32, c"f", "f4"),
    (DataType::F64, c"d", "f8"),
    (DataType::COMPLEX64, c"Zf", "c8"),
    (DataType::COMPLEX128, c"Zd", "c16"),
];

const LONG_IS_8: bool = size_of::<c_long>() == 8;

impl Format {
    /// Returns `None` for a type without a code, such as `bfloat16`, and for one with lanes.
    pub(super) fn of(dtype: DataType) -> Option<Self> {
        let &(_, code, name) = FORMATS.iter().find(|(known, ..)| *known == dtype)?;
        Some(Self { code, name, size: dtype.byte_size()? })
    }

    /// The name in the array interface, such as `<f4`.
    pub(super) fn type_string(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        let order = match self.size {
            1 => "|",
            _ if cfg!(target_endian = "little") => "<",
            _ => ">",
        };
        PyString::new(py, order).add(self.name)
    }
}
