//! Allocates tensors with the allocator of a Python type: [`allocate`].
//!
//! The elements are zeroed when they are first accessed as elements, because allocators
//! return memory with old contents. A kernel that writes all elements through the pointer
//! does not pay for it.

use alloc::format;
use alloc::string::String;
use core::ffi::{CStr, c_char, c_void};
use core::{fmt, ptr};

use pyo3::exceptions::{
    PyBufferError, PyMemoryError, PyNotImplementedError, PyOverflowError, PyRuntimeError,
    PyTypeError, PyValueError,
};
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::backend::{Backend, MemoryRef, Prototype, WorkStream};
use crate::device::Device;
use crate::dtype::DataType;
use crate::error::Error;
use crate::exchange::foreign_table::{AllocateFunction, ForeignTable, StreamFunction};
use crate::ffi::{DLManagedTensorVersioned, DLTensor};
use crate::import::{Exclusive, ImportPolicy, ImportedTensor};
use crate::panic::catch_panic;
use crate::python::convert::{exchange_error, ok_or_discard};
use crate::python::import::device_tensor::stream_of;
use crate::python::interpreter::drop_attached::adopt;
use crate::python::table::lookup::foreign_table_of;
use crate::python::table::to_object::{GivenTensor, Maker};
use crate::strides::{self, MAX_NDIM};

/// Allocates a tensor with the allocator of a Python type, to return it as an object of
/// that type.
///
/// It calls the exchange table of the type and no Python code. `torch.Tensor` and the
/// classes of this module have such a table. `numpy.ndarray` has none: make the tensor in
/// Rust and convert it with [`to_object`](crate::python::to_object).
///
/// ```no_run
/// use dlpack_traits::backend::Prototype;
/// use dlpack_traits::{Dims, python};
/// use pyo3::prelude::*;
///
/// /// Twice a tensor of `float32`s, as an object of the same library.
/// # #[allow(dead_code)]
/// fn doubled<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
///     let tensor = python::from_dlpack(object)?;
///     let shape = Dims::borrowed(tensor.shape());
///     let prototype = Prototype::new(tensor.dtype(), shape, tensor.device())?;
///     let mut result = python::allocate(&object.get_type(), &prototype)?;
///     let numbers = tensor.elements::<f32>()?.iter();
///     for (to, number) in result.exclusive()?.elements_mut::<f32>()?.zip(numbers) {
///         *to = 2.0 * number;
///     }
///     result.into_object()
/// }
/// ```
///
/// # Errors
///
/// `TypeError` if the type has no exchange table with an allocator. If the allocator
/// fails, the exception whose kind it reports. `BufferError` if the tensor does not have
/// the requested dtype, shape and device.
pub fn allocate<'py>(
    class: &Bound<'py, PyType>,
    prototype: &Prototype<'_>,
) -> PyResult<Allocated<'py>> {
    let py = class.py();
    let table = foreign_table_of(class)?;
    let (Some(ForeignTable { allocate: Some(allocate), stream, .. }), Some(maker)) =
        (table, Maker::of(class)?)
    else {
        return Err(PyTypeError::new_err(format!(
            "`{}` has no exchange table that allocates tensors; make the tensor in Rust, and hand it \
             over with `python::to_object`",
            class.name()?.to_string_lossy()
        )));
    };
    let tensor = call(py, allocate, prototype)?;
    let is_like = tensor.dtype() == prototype.dtype()
        && tensor.shape() == prototype.shape()
        && tensor.device() == prototype.device();
    if !is_like {
        return Err(PyBufferError::new_err(format!(
            "the allocator of `{}` was asked for {} of shape {:?} on {}, and made {} of shape \
             {:?} on {}",
            class.name()?.to_string_lossy(),
            prototype.dtype(),
            prototype.shape(),
            prototype.device(),
            tensor.dtype(),
            tensor.shape(),
            tensor.device(),
        )));
    }
    Ok(Allocated { tensor, is_filled: false, maker, stream, py })
}

/// A tensor in memory of a library's allocator, made by [`allocate`]. It has no other owner.
pub struct Allocated<'py> {
    tensor: ImportedTensor,
    is_filled: bool,
    maker: Maker,
    stream: Option<StreamFunction>,
    py: Python<'py>,
}

impl<'py> Allocated<'py> {
    /// Borrows the elements for writing. The first call fills them with zeros, because
    /// allocators return uninitialized memory.
    ///
    /// # Errors
    ///
    /// [`Error::NotOnHost`], [`Error::ReadOnly`], [`Error::Overlapping`].
    pub fn exclusive(&mut self) -> Result<Exclusive<'_>, Error> {
        if !self.is_filled {
            self.fill_with_zeros()?;
        }
        // SAFETY: 1. The allocator made the tensor for this call, and is trusted not to
        // give it to anything else.
        unsafe { self.tensor.assume_exclusive() }
    }

    fn fill_with_zeros(&mut self) -> Result<(), Error> {
        let device = self.tensor.device();
        if !device.is_host() {
            return Err(Error::NotOnHost { device });
        }
        if self.tensor.is_read_only() {
            return Err(Error::ReadOnly);
        }
        let bytes = self.tensor.byte_range();
        if !bytes.is_empty() {
            let first = self.tensor.data_ptr().cast_mut();
            let lowest = first.wrapping_offset(bytes.start);
            let count = bytes.end.wrapping_sub(bytes.start).unsigned_abs();
            // SAFETY: `byte_range` covers memory of the tensor only, relative to its first
            // element, and nothing else has access to the tensor.
            unsafe { lowest.write_bytes(0, count) };
        }
        self.is_filled = true;
        Ok(())
    }

    /// Returns the shape, in elements.
    pub fn shape(&self) -> &[i64] {
        self.tensor.shape()
    }

    /// Returns the strides, in elements. The allocator chooses them.
    pub fn strides(&self) -> &[i64] {
        self.tensor.strides()
    }

    /// Returns the data type of the elements.
    pub fn dtype(&self) -> DataType {
        self.tensor.dtype()
    }

    /// Returns the device of the memory.
    pub fn device(&self) -> Device {
        self.tensor.device()
    }

    /// Returns the location of the first element, for writing in place: its
    /// [`address`](MemoryRef::address), or on devices without addresses the handle of the memory with
    /// the offset of the element. The elements are uninitialized unless
    /// [`exclusive`](Self::exclusive) filled them. NULL if the tensor has no elements.
    pub fn as_mut_ptr(&mut self) -> MemoryRef {
        MemoryRef::of_first_element(&self.tensor)
    }

    /// Returns the stream for work on the elements: the current stream of the library that allocated
    /// them, or that of the backend if the library names none.
    ///
    /// # Errors
    ///
    /// `ValueError` for a backend that does not serve the device; `BufferError` for an error of the
    /// device; and what the library raises.
    pub fn stream<B: Backend>(&self) -> PyResult<WorkStream<B>> {
        stream_of(self.py, self.stream, self.tensor.device())
    }

    /// Converts the tensor to an object of the type whose allocator made it.
    ///
    /// # Errors
    ///
    /// What the type raises. The tensor is then released.
    pub fn into_object(self) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py;
        let tensor = GivenTensor::of_import(self.tensor).ok_or_else(|| {
            PyRuntimeError::new_err("an allocator's tensor is a versioned one, or there is none")
        })?;
        self.maker.make(py, tensor)
    }
}

impl fmt::Debug for Allocated<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Allocated").field(&self.tensor).finish()
    }
}

/// Calls the allocator of a table.
fn call(
    py: Python<'_>,
    function: AllocateFunction,
    prototype: &Prototype<'_>,
) -> PyResult<ImportedTensor> {
    let ndim = prototype.shape().len();
    let mut lists = [[0; MAX_NDIM]; 2];
    let [shape, strides] = &mut lists;
    let (Some(shape), Some(strides)) = (shape.get_mut(..ndim), strides.get_mut(..ndim)) else {
        return Err(exchange_error(Error::TooManyDims { ndim }));
    };
    shape.copy_from_slice(prototype.shape());
    strides::row_major_strides(shape, strides);
    let mut prototype = DLTensor {
        data: ptr::null_mut(),
        device: prototype.device().to_ffi(),
        ndim: i32::try_from(ndim).map_err(|_| exchange_error(Error::TooManyDims { ndim }))?,
        dtype: prototype.dtype().to_ffi(),
        shape: shape.as_mut_ptr(),
        strides: strides.as_mut_ptr(),
        byte_offset: 0,
    };
    let mut managed = ptr::null_mut::<DLManagedTensorVersioned>();
    let mut reported = ReportedError::default();
    // SAFETY: the function is the allocator of a table. The prototype and its arrays live
    // until it returns, the result may be written, and `set_error` takes `reported`.
    let status = unsafe {
        function.get()(
            &raw mut prototype,
            &raw mut managed,
            (&raw mut reported).cast(),
            Some(set_error),
        )
    };
    // An allocator reports through `set_error`. The standard does not provide for an
    // exception.
    let raised = PyErr::take(py);
    if status == 0 {
        // SAFETY: 1. The library that made the table is trusted that this is NULL or a tensor,
        // made for this call. Its elements need not be initialized: nothing reads them
        // before `exclusive` has filled them.
        let tensor = unsafe { adopt(managed, ImportPolicy::new()) };
        if raised.is_none() && reported.is_empty() {
            return tensor;
        }
        ok_or_discard(py, tensor);
    }
    let error = reported.into_error();
    if let Some(raised) = raised {
        error.set_cause(py, Some(raised));
    }
    Err(error)
}

/// The first error that an allocator reported.
#[derive(Default)]
struct ReportedError(Option<(String, String)>);

impl ReportedError {
    const fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Converts the error to the exception whose kind the allocator named.
    fn into_error(self) -> PyErr {
        let Some((kind, message)) = self.0 else {
            return PyBufferError::new_err("the allocator of the type failed and reported nothing");
        };
        match kind.as_str() {
            "MemoryError" => PyMemoryError::new_err(message),
            "BufferError" => PyBufferError::new_err(message),
            "TypeError" => PyTypeError::new_err(message),
            "ValueError" => PyValueError::new_err(message),
            "OverflowError" => PyOverflowError::new_err(message),
            "NotImplementedError" => PyNotImplementedError::new_err(message),
            "RuntimeError" => PyRuntimeError::new_err(message),
            _ => PyRuntimeError::new_err(format!("{kind}: {message}")),
        }
    }
}

/// Records the first error that an allocator reports. It accepts NULL and text that is
/// not UTF-8, and ignores further reports.
///
/// # Safety
///
/// 1. An allocator calls it while [`call`] waits, with the context that it was given.
/// 2. `kind` and `message` are NULL, or C strings.
unsafe extern "C" fn set_error(reported: *mut c_void, kind: *const c_char, message: *const c_char) {
    let text = |text: *const c_char| {
        if text.is_null() {
            return String::new();
        }
        // SAFETY: by 2 it is a C string, since it is not NULL.
        String::from_utf8_lossy(unsafe { CStr::from_ptr(text) }.to_bytes()).into_owned()
    };
    catch_panic(|| {
        // SAFETY: by 1 it is the `ReportedError` of `call`, which does not access it until the
        // allocator returns.
        let reported = unsafe { &mut *reported.cast::<ReportedError>() };
        if reported.is_empty() {
            reported.0 = Some((text(kind), text(message)));
        }
    });
}
