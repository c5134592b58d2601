//! Tensors of Python objects for the time of a call: [`borrow`], [`borrow_view`].

use core::ffi::c_void;
use core::fmt;
use core::marker::PhantomData;
use core::ops::Deref;

use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;

use super::convert::quietly;
use super::from_dlpack::{ImportOptions, from_dlpack, from_dlpack_with};
use super::lookup::peer_of;
use super::peer::{Peer, Stream};
use super::slots;
use crate::device::Device;
use crate::ffi;
use crate::import::Imported;
use crate::stream::StreamArg;

/// Calls a function with the tensor of an object, which it has until it returns.
///
/// The tensor is imported for the time of the call, so its producer keeps the memory until
/// `run` returns, whatever `run` calls and other threads do to the object. With an exchange
/// table on the object's type this calls no Python code and looks up no attribute. It does
/// not wait for the device then either: the stream is the one on which the object's
/// library launches its work now, and is where work on the tensor belongs.
///
/// ```no_run
/// use dlpack_traits::python;
/// use pyo3::prelude::*;
///
/// # #[allow(dead_code)]
/// fn largest(object: &Bound<'_, PyAny>) -> PyResult<f32> {
///     python::borrow(object, |tensor, _stream| {
///         let elements = tensor.elements::<f32>()?;
///         Ok(elements.iter().fold(f32::NEG_INFINITY, f32::max))
///     })
/// }
/// ```
///
/// The tensor cannot leave the call:
///
/// ```compile_fail
/// # use dlpack_traits::python; use pyo3::prelude::*;
/// fn keep<'a>(object: &Bound<'a, PyAny>) -> PyResult<python::Borrowed<'a>> {
///     python::borrow(object, |tensor, _| Ok(tensor))
/// }
/// ```
///
/// # Errors
///
/// Those of [`from_dlpack`], and of `run`.
pub fn borrow<R>(
    object: &Bound<'_, PyAny>,
    run: impl for<'a> FnOnce(Borrowed<'a>, WorkStream<'a>) -> PyResult<R>,
) -> PyResult<R> {
    run_imported(object, peer_of(&object.get_type())?, run)
}

/// [`borrow`] of memory that no one keeps: through the function of the exchange table for
/// temporary access, which transfers no ownership. Where the table does not have this function, or there is no table, this is
/// [`borrow`].
///
/// The standard says that such a tensor is valid "until control is returned". Then Python
/// code may replace or free the memory of the object, and the object lives on.
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
///         python::borrow_view(object, |tensor, _stream| {
///             Ok(tensor.elements::<f32>()?.iter().sum())
///         })
///     }
/// }
/// ```
///
/// # Errors
///
/// Those of [`borrow`].
///
/// # Safety
///
/// 1. While `run` runs, no thread calls a function that frees or moves the memory of the
///    object. With a GIL it is enough that `run` calls no function of Python, does not
///    detach from the interpreter, and drops no value that may do either.
pub unsafe fn borrow_view<R>(
    object: &Bound<'_, PyAny>,
    run: impl for<'a> FnOnce(Borrowed<'a>, WorkStream<'a>) -> PyResult<R>,
) -> PyResult<R> {
    let py = object.py();
    let peer = peer_of(&object.get_type())?;
    if let Some(Peer { view: Some(view), stream, .. }) = peer {
        // SAFETY: 1. It is from the table of this object's type.
        match unsafe { slots::view(object, view) } {
            // What is complex may stand for its conjugate, which a table does not say.
            Ok(tensor) if tensor.dtype.code == ffi::kDLComplex => {}
            Ok(tensor) => {
                // SAFETY: 1. The library that made the table is trusted that the tensor
                // is what the standard says, until Python code runs. The next statement
                // asks for the stream, which runs none, and by 1 nothing else does.
                let tensor = unsafe { Imported::borrowed(&tensor) }?;
                let stream = current_stream(py, stream, tensor.device())?;
                return run(Borrowed::new(&tensor), stream);
            }
            Err(error) if error.is_instance_of::<PyBufferError>(py) => {
                quietly::<()>(py, Err(error));
            }
            Err(error) => return Err(error),
        }
    }
    run_imported(object, peer, run)
}

/// [`borrow`] of an object whose type has that table.
fn run_imported<R>(
    object: &Bound<'_, PyAny>,
    peer: Option<Peer>,
    run: impl for<'a> FnOnce(Borrowed<'a>, WorkStream<'a>) -> PyResult<R>,
) -> PyResult<R> {
    let py = object.py();
    // With a table one can ask on which stream to work, and need not wait.
    let tensor = match peer {
        Some(Peer { stream: Some(_), .. }) => {
            from_dlpack_with(object, &ImportOptions::new().stream(StreamArg::no_sync()))?
        }
        _ => from_dlpack(object)?,
    };
    let stream = current_stream(py, peer.and_then(|peer| peer.stream), tensor.device())?;
    run(Borrowed::new(&tensor), stream)
}

/// The stream of a device. On the CPU nobody is asked: there are none.
fn current_stream<'a>(
    py: Python<'_>,
    function: Option<Stream>,
    device: Device,
) -> PyResult<WorkStream<'a>> {
    let stream = match function {
        // SAFETY: 1. It is from a table.
        Some(function) if device != Device::CPU => unsafe { slots::stream(py, function, device) }?,
        _ => core::ptr::null_mut(),
    };
    Ok(WorkStream { stream, alive: PhantomData })
}

/// The tensor of an object for the time of a call: [`borrow`].
///
/// It stays on its thread, which may give others what it derefs to, as long as
/// they are done when the call returns.
pub struct Borrowed<'a> {
    tensor: &'a Imported,
    here: PhantomData<*const ()>,
}

impl<'a> Borrowed<'a> {
    const fn new(tensor: &'a Imported) -> Self {
        Self { tensor, here: PhantomData }
    }
}

impl Deref for Borrowed<'_> {
    type Target = Imported;

    fn deref(&self) -> &Imported {
        self.tensor
    }
}

impl fmt::Debug for Borrowed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Borrowed").field(self.tensor).finish()
    }
}

/// The stream on which a library launches its work on a device now: a
/// `cudaStream_t` on CUDA, and so on. NULL on the CPU, and where the device's
/// default stream is meant.
#[derive(Clone, Copy, Debug)]
pub struct WorkStream<'a> {
    stream: *mut c_void,
    alive: PhantomData<&'a c_void>,
}

impl WorkStream<'_> {
    /// The handle.
    pub const fn as_ptr(self) -> *mut c_void {
        self.stream
    }
}
