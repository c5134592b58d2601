//! The objects that implement the buffer protocol: [`Exporter`].
//!
//! A class that PyO3 created has no function of the buffer protocol, and an object may change
//! its memory while a consumer uses a buffer. Therefore each request of a buffer exports the
//! tensor into an object of this module. It owns the tensor, and implements the protocol. The
//! consumer has a reference to it until it releases the buffer.
//!
//! From CPython 3.12 on, the class has a method `__buffer__` (PEP 688), for which Python
//! itself sets the slot of the type. Before, [`legacy_slot`](super::legacy_slot) sets it.

use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;
use core::ffi::{CStr, c_int, c_void};
use core::marker::PhantomData;
use core::mem::offset_of;
use core::ptr;

use pyo3::Borrowed;
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::ffi::{Py_ssize_t, PyObject};
use pyo3::prelude::*;
use pyo3::types::PyMemoryView;

use super::array_class::{ArrayClass, with_tensor};
use super::buffer_struct::{Buffer, BufferFunction};
use super::format::Format;
use super::heap_type::{HeapType, Spec};
use super::method::Method;
use crate::managed::ManagedTensor;
use crate::panic::catch_panic;
use crate::python::convert::{self, attached_object};
use crate::python::export::arguments::Arguments;
use crate::python::export::export_class::ExportClass;
use crate::strides;

/// `__buffer__`, of CPython 3.12 and later.
pub(super) struct BufferMethod;

impl Method for BufferMethod {
    const NAME: &'static str = "__buffer__";
    const C_NAME: &'static CStr = c"__buffer__";
    const DOC: &'static CStr =
        c"__buffer__($self, flags, /)\n--\n\nReturn a memoryview of the tensor.";

    fn call(
        object: Borrowed<'_, 'static, PyAny>,
        _: Arguments<'_>,
        class: &'static ArrayClass,
    ) -> PyResult<Bound<'static, PyAny>> {
        // Python requests the buffer of this view with its own flags.
        let exporter = exporter_of(object, class)?;
        Ok(PyMemoryView::from(&exporter)?.into_any())
    }
}

/// A tensor on the host that was exported for the buffer protocol, and the layout of its
/// buffers.
pub(super) struct Exporter {
    tensor: ManagedTensor,
    pub(super) format: Format,
    shape: Box<[Py_ssize_t]>,
    /// In bytes.
    strides: Box<[Py_ssize_t]>,
    len: Py_ssize_t,
    c_contiguous: bool,
    f_contiguous: bool,
}

/// The type of exporters.
static EXPORTER: HeapType<Exporter> =
    HeapType::new(Spec { name: c"dlpack_traits.Buffer", get_buffer: function::<Itself>() });

/// Exports the tensor of an object into a new exporter.
///
/// # Errors
///
/// `BufferError` for memory that is not on the host; `TypeError` for a dtype without a code in
/// the buffer protocol; those of an export.
pub(super) fn exporter_of(
    object: Borrowed<'_, 'static, PyAny>,
    class: &'static ArrayClass,
) -> PyResult<Bound<'static, PyAny>> {
    // Before the export, which waits for a device.
    let (device, dtype) = with_tensor(object, class, |view| Ok((view.device(), view.dtype())))?;
    if !device.is_host() {
        return Err(PyBufferError::new_err(format!(
            "a buffer is memory of the host, and this tensor is on {device}"
        )));
    }
    if Format::of(dtype).is_none() {
        return Err(no_format(dtype));
    }
    let exporter = Exporter::new((class.export)(object)?)?;
    EXPORTER.object(object.py(), exporter)
}

/// Makes the error for a dtype that the buffer protocol has no code for.
fn no_format(dtype: crate::dtype::DataType) -> PyErr {
    PyTypeError::new_err(format!(
        "the buffer protocol has no code for {dtype}; use `from_dlpack` of a library that has it"
    ))
}

impl Exporter {
    /// Reads the layout of a tensor, which may differ from the one that the object described
    /// before.
    fn new(tensor: ManagedTensor) -> PyResult<Self> {
        let device = tensor.device();
        if !device.is_host() {
            return Err(PyBufferError::new_err(format!("this tensor is on {device}")));
        }
        let format = Format::of(tensor.dtype()).ok_or_else(|| no_format(tensor.dtype()))?;
        let too_large = || PyBufferError::new_err("the tensor is too large for a buffer");
        let shape = tensor.shape().iter().map(|&dim| Py_ssize_t::try_from(dim).ok());
        let shape = shape.collect::<Option<Vec<_>>>().ok_or_else(too_large)?;
        let size = Py_ssize_t::try_from(format.size).map_err(|_| too_large())?;
        let len = shape.iter().try_fold(size, |len, dim| len.checked_mul(*dim));
        let len = if shape.contains(&0) { 0 } else { len.ok_or_else(too_large)? };
        // The stride of a dimension with a single element is not used, and may be any number.
        let strides = tensor.strides().iter().zip(&shape).map(|(&stride, &dim)| {
            if dim > 1 && len != 0 {
                Py_ssize_t::try_from(stride).ok()?.checked_mul(size)
            } else {
                Some(size)
            }
        });
        let strides = strides.collect::<Option<Vec<_>>>().ok_or_else(too_large)?;
        let c_contiguous = strides::is_row_major(tensor.shape(), tensor.strides());
        let f_contiguous = strides::is_column_major(tensor.shape(), tensor.strides());
        let (shape, strides) = (shape.into_boxed_slice(), strides.into_boxed_slice());
        Ok(Self { tensor, format, shape, strides, len, c_contiguous, f_contiguous })
    }

    pub(super) fn is_c_contiguous(&self) -> bool {
        self.c_contiguous
    }

    pub(super) fn shape(&self) -> &[Py_ssize_t] {
        &self.shape
    }

    /// Describes the memory as the flags request, without a reference to the exporter.
    fn buffer(&self, flags: c_int) -> PyResult<Buffer> {
        let wants = |flag: c_int| flags & flag == flag;
        let refuse = |reason: &'static str| Err(PyBufferError::new_err(reason));
        let read_only = self.tensor.is_read_only();
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
            return refuse("a buffer without strides was requested, and the elements have gaps");
        }
        if !wants(ND) && wants(FORMAT) {
            return refuse("a buffer with a format and without a shape was requested");
        }
        let data = match self.len {
            // Some consumers reject NULL, or take it for memory to allocate.
            0 => (&raw const EMPTY).cast(),
            _ => self.tensor.data_ptr(),
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

/// Returns the function of the buffer protocol of objects that have an exporter.
pub(super) const fn function<S: Source>() -> BufferFunction {
    // SAFETY: 1. `Source` and `buffer_of` check the type of the object.
    unsafe { BufferFunction::new(get_buffer::<S>) }
}

/// The way from an object to its exporter.
pub(super) trait Source {
    fn exporter(object: Borrowed<'_, 'static, PyAny>) -> PyResult<Bound<'static, PyAny>>;
}

/// The object is an exporter.
struct Itself;

impl Source for Itself {
    fn exporter(object: Borrowed<'_, 'static, PyAny>) -> PyResult<Bound<'static, PyAny>> {
        Ok(object.to_owned())
    }
}

/// The object is of an array-like class, and its tensor is exported.
pub(super) struct Exported<T>(PhantomData<T>);

impl<T: ExportClass> Source for Exported<T> {
    fn exporter(object: Borrowed<'_, 'static, PyAny>) -> PyResult<Bound<'static, PyAny>> {
        exporter_of(object, ArrayClass::of::<T>())
    }
}

/// Fills the struct of a request, or raises an exception.
///
/// The struct refers to the shape and the strides of an exporter, which does not change them,
/// and has a reference to the exporter. So nothing is left to do when the consumer releases
/// the buffer, but to drop that reference.
///
/// # Safety
///
/// 1. Python calls it, as `bf_getbuffer` of an object.
unsafe extern "C" fn get_buffer<S: Source>(
    object: *mut PyObject,
    buffer: *mut Buffer,
    flags: c_int,
) -> c_int {
    // SAFETY: 1. and 2. By 1 this thread is attached, and the object is alive.
    let object: Borrowed<'_, 'static, PyAny> = unsafe { attached_object(object) };
    let describe = || buffer_of(S::exporter(object)?, flags);
    match catch_panic(describe).unwrap_or_else(|| Err(convert::panicked())) {
        Ok(described) => {
            // SAFETY: by 1 the struct may be written.
            unsafe { buffer.write(described) };
            0
        }
        Err(error) => {
            convert::raise(object.py(), error);
            // Python requires it of a failed request.
            let none = buffer.wrapping_byte_add(offset_of!(Buffer, obj)).cast::<*mut PyObject>();
            // SAFETY: by 1 the field may be written.
            unsafe { none.write(ptr::null_mut()) };
            -1
        }
    }
}

/// Describes the memory of an exporter, and keeps the reference to it.
fn buffer_of(exporter: Bound<'_, PyAny>, flags: c_int) -> PyResult<Buffer> {
    let described = value(&exporter)?.buffer(flags)?;
    Ok(Buffer { obj: exporter.into_ptr(), ..described })
}

/// Returns the value of an exporter.
pub(super) fn value<'a>(exporter: &'a Bound<'_, PyAny>) -> PyResult<&'a Exporter> {
    let missing = || PyTypeError::new_err("the object has no tensor");
    EXPORTER.value(exporter.as_borrowed()).ok_or_else(missing)
}
