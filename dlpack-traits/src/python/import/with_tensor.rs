//! Imports the tensor of a Python object for the duration of a call: [`with_tensor`],
//! [`with_view`].

use core::ffi::c_void;
use core::fmt;
use core::marker::PhantomData;
use core::ops::Deref;

use pyo3::prelude::*;

use crate::device::Device;
use crate::exchange::foreign_table::StreamFunction;
use crate::flags::Flags;
use crate::import::{ImportedTensor, Unmanaged};
use crate::managed::{GuardedRelease, Release};
use crate::python::convert::exchange_error;
use crate::python::import::from_dlpack::{from_dlpack, from_dlpack_with};
use crate::python::import::import_options::ImportOptions;
use crate::python::interpreter::drop_attached::drain;
use crate::python::table::calls;
use crate::python::table::lookup::{OfObject, table_of};
use crate::stream_arg::StreamArg;

/// Calls `run` with the tensor of an object and the current stream of its library.
///
/// The tensor is imported for the duration of the call, so its producer keeps the memory
/// alive until `run` returns, whatever `run` calls and whatever other threads do to the
/// object. If the type of the object has an exchange table with a stream function, this
/// function does not wait for the device: the stream is the one on which the object's library
/// currently launches its work. Launch work on the tensor on that stream. It then calls
/// Python code only for pinned memory, and if the table rejects the tensor
/// (by a `BufferError`, or by PyTorch's `RuntimeError` for a C++ exception).
///
/// ```no_run
/// use dlpack_traits::python;
/// use pyo3::prelude::*;
///
/// # #[allow(dead_code)]
/// fn largest(object: &Bound<'_, PyAny>) -> PyResult<f32> {
///     python::with_tensor(object, |tensor, _stream| {
///         let elements = tensor.elements::<f32>()?;
///         Ok(elements.iter().fold(f32::NEG_INFINITY, f32::max))
///     })
/// }
/// ```
///
/// The tensor cannot escape from the call:
///
/// ```compile_fail
/// # use dlpack_traits::python; use pyo3::prelude::*;
/// fn keep<'a>(object: &Bound<'a, PyAny>) -> PyResult<python::BorrowedTensor<'a>> {
///     python::with_tensor(object, |tensor, _| Ok(tensor))
/// }
/// ```
///
/// # Errors
///
/// Those of [`from_dlpack`], and of `run`.
pub fn with_tensor<R>(
    object: &Bound<'_, PyAny>,
    run: impl for<'a> FnOnce(BorrowedTensor<'a>, CurrentStream<'a>) -> PyResult<R>,
) -> PyResult<R> {
    let table = table_of(object)?;
    run_imported(object, table.and_then(|table| table.get().stream), run)
}

/// Calls `run` with a borrowed view of an object's tensor, like [`with_tensor`], but without
/// taking ownership.
///
/// It calls the function of the exchange table for temporary access, which transfers no
/// ownership. It falls back to [`with_tensor`] if the type has no
/// table, and if the table does not have this function or the function rejects the object.
///
/// The standard says that such a tensor is valid "until control is returned". After that,
/// Python code may replace or free the memory of the object while the object stays alive.
///
/// ```no_run
/// use dlpack_traits::python;
/// use pyo3::prelude::*;
///
/// # #[allow(dead_code)]
/// fn sum(object: &Bound<'_, PyAny>) -> PyResult<f32> {
///     // SAFETY: 1. The closure reads numbers and calls nothing of Python. The module is
///     // built for interpreters with a GIL, which this thread holds.
///     unsafe {
///         python::with_view(object, |tensor, _stream| {
///             Ok(tensor.elements::<f32>()?.iter().sum())
///         })
///     }
/// }
/// ```
///
/// # Errors
///
/// Those of [`with_tensor`].
///
/// # Safety
///
/// 1. While `run` runs, no thread calls a function that frees or moves the memory of the
///    object. With a GIL it is enough that `run` calls no function of Python, does not
///    detach from the interpreter, and drops no value that may do either.
pub unsafe fn with_view<R>(
    object: &Bound<'_, PyAny>,
    run: impl for<'a> FnOnce(BorrowedTensor<'a>, CurrentStream<'a>) -> PyResult<R>,
) -> PyResult<R> {
    let py = object.py();
    drain(py);
    let table = table_of(object)?;
    let stream = table.and_then(|table| table.get().stream);
    if let Some(view) = table.and_then(OfObject::view) {
        if view.has_lazy_bits() {
            // Before the view, which is valid until Python code runs.
            calls::check_lazy_bits(object, None)?;
        }
        if let Some(tensor) = calls::unless_refused(py, calls::view(view))? {
            let release = GuardedRelease::from(Release::nothing());
            // SAFETY: 1. The library that made the table is trusted that the tensor
            // is as the standard says, until Python code runs. The next statement
            // reads the stream, which runs no Python code, and by 1 nothing else
            // does.
            let tensor = unsafe { Unmanaged::new(tensor, Flags::NONE, None) };
            let tensor = ImportedTensor::of_owner(&tensor, release).map_err(exchange_error)?;
            let stream = current_stream(py, stream, tensor.device())?;
            return run(BorrowedTensor::new(&tensor), stream);
        }
    }
    run_imported(object, stream, run)
}

/// Implements [`with_tensor`]. `stream` is from the exchange table of the object's type.
fn run_imported<R>(
    object: &Bound<'_, PyAny>,
    stream: Option<StreamFunction>,
    run: impl for<'a> FnOnce(BorrowedTensor<'a>, CurrentStream<'a>) -> PyResult<R>,
) -> PyResult<R> {
    let py = object.py();
    // With a table the library's stream is known, so the import need not synchronize.
    let tensor = match stream {
        Some(_) => from_dlpack_with(object, &ImportOptions::new().stream(StreamArg::no_sync()))?,
        None => from_dlpack(object)?,
    };
    let stream = current_stream(py, stream, tensor.device())?;
    run(BorrowedTensor::new(&tensor), stream)
}

/// Returns the current stream of a device. The CPU has no streams: the function is not
/// called, and the stream is NULL.
fn current_stream<'a>(
    py: Python<'_>,
    function: Option<StreamFunction>,
    device: Device,
) -> PyResult<CurrentStream<'a>> {
    let stream = match function {
        Some(function) if device != Device::CPU => calls::stream(py, function, device)?,
        _ => core::ptr::null_mut(),
    };
    Ok(CurrentStream { stream, alive: PhantomData })
}

/// The tensor of an object during a call of [`with_tensor`].
///
/// It is not `Send`. Other threads may use the `ImportedTensor` that it dereferences to, if
/// they finish before the call returns.
pub struct BorrowedTensor<'a> {
    tensor: &'a ImportedTensor,
    here: PhantomData<*const ()>,
}

impl<'a> BorrowedTensor<'a> {
    const fn new(tensor: &'a ImportedTensor) -> Self {
        Self { tensor, here: PhantomData }
    }
}

impl Deref for BorrowedTensor<'_> {
    type Target = ImportedTensor;

    fn deref(&self) -> &ImportedTensor {
        self.tensor
    }
}

impl fmt::Debug for BorrowedTensor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("BorrowedTensor").field(self.tensor).finish()
    }
}

/// The stream on which a library currently launches its work on a device, such as a
/// `cudaStream_t` on CUDA. NULL on the CPU, and for the device's default stream.
#[derive(Clone, Copy, Debug)]
pub struct CurrentStream<'a> {
    stream: *mut c_void,
    alive: PhantomData<&'a c_void>,
}

impl CurrentStream<'_> {
    /// Returns the handle.
    pub const fn as_ptr(self) -> *mut c_void {
        self.stream
    }
}
