//! The names of element types in the buffer protocol and the array interface: [`Format`].

use alloc::borrow::Cow;
use alloc::ffi::CString;
use alloc::format;
use alloc::string::String;
use core::ffi::{CStr, c_long};
use core::fmt::Write as _;

use crate::dtype::DataType;
use crate::element::RecordType;
use crate::python::numpy::type_string;

/// The names of an element type that the module `struct` of Python, or NumPy, has a code for.
#[derive(Clone, Debug)]
pub(super) struct Format {
    /// The code of the buffer protocol.
    pub(super) code: Cow<'static, CStr>,
    /// `None` for records.
    dtype: Option<DataType>,
    pub(super) size: usize,
}

/// The formats. NumPy's default type of 8-byte integers is `long` where `long` has 8 bytes,
/// and so is ours.
const FORMATS: [(DataType, &CStr); 14] = [
    (DataType::BOOL, c"?"),
    (DataType::I8, c"b"),
    (DataType::I16, c"h"),
    (DataType::I32, c"i"),
    (DataType::I64, if LONG_IS_8 { c"l" } else { c"q" }),
    (DataType::U8, c"B"),
    (DataType::U16, c"H"),
    (DataType::U32, c"I"),
    (DataType::U64, if LONG_IS_8 { c"L" } else { c"Q" }),
    (DataType::F16, c"e"),
    (DataType::F32, c"f"),
    (DataType::F64, c"d"),
    (DataType::COMPLEX64, c"Zf"),
    (DataType::COMPLEX128, c"Zd"),
];

const LONG_IS_8: bool = size_of::<c_long>() == 8;

impl Format {
    /// Returns `None` for a type without a code, such as `bfloat16`, and for one with lanes.
    pub(super) fn of(dtype: DataType) -> Option<Self> {
        let code = Cow::Borrowed(code(dtype)?);
        Some(Self { code, dtype: Some(dtype), size: dtype.byte_size()? })
    }

    /// Returns `None` for a record with a field of a type without a code.
    pub(super) fn of_record(record: &RecordType) -> Option<Self> {
        let mut code = String::new();
        write_record(&mut code, record)?;
        let code = Cow::Owned(CString::new(code).ok()?);
        Some(Self { code, dtype: None, size: record.size() })
    }

    /// The name in the array interface, such as `<f4`.
    pub(super) fn type_string(&self) -> Cow<'static, str> {
        match self.dtype.and_then(type_string) {
            Some(name) => Cow::Borrowed(name),
            None => Cow::Owned(format!("|V{}", self.size)),
        }
    }
}

fn code(dtype: DataType) -> Option<&'static CStr> {
    FORMATS.iter().find(|(known, _)| *known == dtype).map(|&(_, code)| code)
}

/// Writes the code of a record, such as `T{(3)=f:position:=I:id:}`: its sizes are those of the standard,
/// without alignment, and padding is written out.
fn write_record(to: &mut String, record: &RecordType) -> Option<()> {
    let mut end = 0_usize;
    to.push_str("T{");
    for field in record.fields() {
        pad(to, field.offset().checked_sub(end)?)?;
        let mut parts = 1_usize;
        for (index, dim) in field.outer_axes().iter().enumerate() {
            write!(to, "{}{dim}", if index == 0 { '(' } else { ',' }).ok()?;
            parts = parts.checked_mul(usize::try_from(*dim).ok()?)?;
        }
        if !field.outer_axes().is_empty() {
            to.push(')');
        }
        let size = if let Some(record) = field.record() {
            write_record(to, record)?;
            record.size()
        } else {
            // In standard sizes, `l` has 4 bytes.
            let code = match code(field.dtype())?.to_str().ok()? {
                "l" => "q",
                "L" => "Q",
                code => code,
            };
            write!(to, "={code}").ok()?;
            field.dtype().byte_size()?
        };
        write!(to, ":{}:", field.name()).ok()?;
        end = field.offset().checked_add(size.checked_mul(parts)?)?;
    }
    pad(to, record.size().checked_sub(end)?)?;
    to.push('}');
    Some(())
}

fn pad(to: &mut String, bytes: usize) -> Option<()> {
    if bytes == 0 { Some(()) } else { write!(to, "{bytes}x").ok() }
}
