//! A tensor on the host and its description for the buffer protocol: [`Exporter`], with the name of
//! its element type there and in the array interface: [`Format`].

use alloc::borrow::Cow;
use alloc::ffi::CString;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ffi::{CStr, c_int, c_void};
use core::fmt::Write as _;
use core::ptr;

use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::ffi::Py_ssize_t;
use pyo3::prelude::*;

use crate::device::Device;
use crate::dtype::DataType;
use crate::element::RecordType;
use crate::managed::ManagedTensor;
use crate::python::array_like::buffer_slots::Buffer;
use crate::python::convert::exchange_error;
use crate::python::interpreter::pending_exception::preserve_exception;
use crate::python::numpy::{buffer_code, type_string};
use crate::storage::try_vec;
use crate::strides;

/// A tensor on the host that was exported for the buffer protocol, and the layout of its
/// buffers. Python code cannot create one.
#[pyclass(frozen, module = "dlpack_traits", name = "Buffer")]
pub(super) struct Exporter {
    /// `None` while `drop` runs.
    tensor: Option<ManagedTensor>,
    pub(super) format: Format,
    pub(super) record: Option<&'static RecordType>,
    shape: Vec<Py_ssize_t>,
    /// In bytes.
    strides: Vec<Py_ssize_t>,
    len: Py_ssize_t,
    c_contiguous: bool,
    f_contiguous: bool,
}

/// Returns the format of the buffers of a tensor.
///
/// # Errors
///
/// `BufferError` for memory that is not on the host; `TypeError` for a dtype without a code in
/// the buffer protocol.
pub(super) fn format_of(
    device: Device,
    dtype: DataType,
    record: Option<&RecordType>,
) -> PyResult<Format> {
    if !device.is_host() {
        return Err(PyBufferError::new_err(format!(
            "a buffer is memory of the host, and this tensor is on {device}"
        )));
    }
    let format = match record {
        Some(record) => Format::of_record(record),
        None => Format::of(dtype),
    };
    format.ok_or_else(|| {
        let what = record.map_or_else(|| dtype.to_string(), ToString::to_string);
        PyTypeError::new_err(format!(
            "the buffer protocol has no code for {what}; use `from_dlpack` of a library that has it"
        ))
    })
}

/// The shape without the axis of the bytes of records.
pub(super) fn outer<'a>(shape: &'a [i64], record: Option<&RecordType>) -> &'a [i64] {
    match shape {
        [outer @ .., _] if record.is_some() => outer,
        shape => shape,
    }
}

/// Collects numbers, unless one of them is too large.
fn list(
    len: usize,
    numbers: impl Iterator<Item = Option<Py_ssize_t>>,
) -> PyResult<Vec<Py_ssize_t>> {
    let mut list = try_vec(len).map_err(exchange_error)?;
    for number in numbers {
        list.push(number.ok_or_else(too_large)?);
    }
    Ok(list)
}

fn too_large() -> PyErr {
    PyBufferError::new_err("the tensor is too large for a buffer")
}

impl Exporter {
    /// Reads the layout of a tensor, which may differ from the one that the object described
    /// before. The last axis of a tensor of records is that of their bytes.
    pub(super) fn new(
        tensor: ManagedTensor,
        record: Option<&'static RecordType>,
    ) -> PyResult<Self> {
        let record = record.filter(|of| of.is_of(tensor.dtype(), tensor.shape(), tensor.strides()));
        let format = format_of(tensor.device(), tensor.dtype(), record)?;
        let all = outer(tensor.shape(), record);
        let ndim = all.len();
        let shape = list(ndim, all.iter().map(|&dim| Py_ssize_t::try_from(dim).ok()))?;
        let size = Py_ssize_t::try_from(format.size).map_err(|_| too_large())?;
        let part = tensor.dtype().byte_size().and_then(|part| Py_ssize_t::try_from(part).ok());
        let part = part.ok_or_else(too_large)?;
        let len = shape.iter().try_fold(size, |len, dim| len.checked_mul(*dim));
        let len = if shape.contains(&0) { 0 } else { len.ok_or_else(too_large)? };
        // The stride of a dimension with a single element is not used, and may be any number.
        let strides = tensor.strides().iter().zip(&shape).map(|(&stride, &dim)| {
            if dim > 1 && len != 0 {
                Py_ssize_t::try_from(stride).ok()?.checked_mul(part)
            } else {
                Some(size)
            }
        });
        let strides = list(ndim, strides)?;
        let c_contiguous = strides::is_row_major(tensor.shape(), tensor.strides());
        let f_contiguous = strides::is_column_major(tensor.shape(), tensor.strides());
        let tensor = Some(tensor);
        Ok(Self { tensor, format, record, shape, strides, len, c_contiguous, f_contiguous })
    }

    pub(super) fn is_c_contiguous(&self) -> bool {
        self.c_contiguous
    }

    pub(super) fn shape(&self) -> &[Py_ssize_t] {
        &self.shape
    }

    /// Describes the memory as the flags request, without a reference to the exporter.
    pub(super) fn buffer(&self, flags: c_int) -> PyResult<Buffer> {
        let wants = |flag: c_int| flags & flag == flag;
        let refuse = |reason: &'static str| Err(PyBufferError::new_err(reason));
        let Some(tensor) = &self.tensor else { return refuse("the tensor was released") };
        let read_only = tensor.is_read_only();
        if wants(WRITABLE) && read_only {
            return refuse("the tensor is read-only, and a writable buffer was requested");
        }
        if wants(C_CONTIGUOUS) && !self.c_contiguous {
            return refuse("the elements are not contiguous in row-major order");
        }
        if wants(F_CONTIGUOUS) && !self.f_contiguous {
            return refuse("the elements are not contiguous in column-major order");
        }
        if wants(ANY_CONTIGUOUS) && !self.c_contiguous && !self.f_contiguous {
            return refuse("the elements are not contiguous");
        }
        if !wants(STRIDES) && !self.c_contiguous {
            return refuse(
                "a buffer without strides was requested, and the elements are not contiguous in row-major order",
            );
        }
        if !wants(ND) && wants(FORMAT) {
            return refuse("a buffer with a format and without a shape was requested");
        }
        let data = match self.len {
            // Some consumers reject NULL, or take it for memory to allocate.
            0 => (&raw const EMPTY).cast(),
            _ => tensor.data_ptr(),
        };
        let ndim = if wants(ND) { self.shape.len() } else { 1 };
        // Without dimensions, both lists are NULL.
        let list = |wanted: bool, list: &[Py_ssize_t]| {
            if wanted && !list.is_empty() { list.as_ptr() } else { ptr::null() }
        };
        Ok(Buffer {
            buf: data.cast_mut().cast(),
            obj: ptr::null_mut(),
            len: self.len,
            itemsize: Py_ssize_t::try_from(self.format.size).unwrap_or(1),
            readonly: c_int::from(read_only),
            ndim: c_int::try_from(ndim).unwrap_or(c_int::MAX),
            format: if wants(FORMAT) { self.format.code.as_ptr() } else { ptr::null() },
            shape: list(wants(ND), &self.shape),
            strides: list(wants(STRIDES), &self.strides),
            suboffsets: ptr::null(),
            internal: ptr::null_mut::<c_void>(),
        })
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        // The owner of the tensor may run any code when it is dropped.
        preserve_exception(&mut || drop(self.tensor.take()));
    }
}

/// The address of tensors without elements.
static EMPTY: [u128; 1] = [0];

// The flags of a request, of which a consumer may combine several. PyO3 hides them below the
// stable ABI of 3.11.
const WRITABLE: c_int = 0x1;
const FORMAT: c_int = 0x4;
const ND: c_int = 0x8;
const STRIDES: c_int = 0x10 | ND;
const C_CONTIGUOUS: c_int = 0x20 | STRIDES;
const F_CONTIGUOUS: c_int = 0x40 | STRIDES;
const ANY_CONTIGUOUS: c_int = 0x80 | STRIDES;

/// The names of an element type that the module `struct` of Python, or NumPy, has a code for.
#[derive(Clone, Debug)]
pub(super) struct Format {
    /// The code of the buffer protocol.
    pub(super) code: Cow<'static, CStr>,
    /// `None` for records.
    dtype: Option<DataType>,
    pub(super) size: usize,
}

impl Format {
    /// Returns `None` for a type without a code, such as `bfloat16`, and for one with lanes.
    pub(super) fn of(dtype: DataType) -> Option<Self> {
        let code = Cow::Borrowed(buffer_code(dtype)?);
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
            let code = match buffer_code(field.dtype())?.to_str().ok()? {
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
