//! Tensors of Python objects for the time of a call: [`borrow`].

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

/// Runs something with the tensor of an object, without taking part in its
/// ownership: what a kernel needs that is done when it returns.
///
/// Through the exchange table of the object's type this calls no Python code,
/// looks up no attribute, and allocates nothing for up to 8 dimensions. It does not
/// wait for the device either: the stream is the one on which the object's
/// library launches its work now, and is where work on the tensor belongs.
///
/// Where the table has no function for it, or there is no table, the tensor is
/// imported for the time of the call.
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
    let py = object.py();
    let peer = peer_of(&object.get_type())?;
    if let Some(Peer { view: Some(view), stream, .. }) = peer {
        // SAFETY: 1. It is from the table of this object's type.
        match unsafe { slots::view(object, view) } {
            // What is complex may stand for its conjugate, which a table does not say.
            Ok(tensor) if tensor.dtype.code == ffi::kDLComplex => {}
            Ok(tensor) => {
                // SAFETY: 1. The library that made the table is trusted that the
                // tensor is what the standard says, as long as the object is
                // alive, which the caller's reference sees to.
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
