//! Work after all work of an NVIDIA GPU: [`after_all_work`].
//!
//! A consumer's stream may be destroyed before the consumer releases its tensor, so memory that it
//! used is freed after all work of the context. Before CUDA 12.5 only the host can wait for that: a
//! release during a kernel of 0.32 s took as long (on an H200). Since then, one event records all
//! work of a context.
//!
//! The free is enqueued on a stream of its own: the buffer's stream would have to wait for
//! unrelated work of other libraries before its next kernel. The stream is not kept, because a
//! reset of the GPU destroys it.

use core::ffi::{c_int, c_uint, c_void};
use core::ptr;

use libloading::Library;

use super::stream::GpuEvent;
use super::sys::calls;
use super::vendor::{AllWork, Runtime, Vendor};
use crate::backend::library::function;
use crate::device::Device;
use crate::error::Error;

calls! {
    /// Functions of drivers for CUDA 12.5 and later.
    ContextCalls {
        record_context(context: *mut c_void, event: *mut c_void): "cuCtxRecordEvent";
        event_query(event: *mut c_void): "cuEventQuery";
        stream_create(stream: *mut *mut c_void, flags: c_uint): "cuStreamCreate";
        stream_destroy(stream: *mut c_void): "cuStreamDestroy_v2";
    }
}

/// `CU_STREAM_NON_BLOCKING`: the stream does not synchronize with the legacy default stream.
const NON_BLOCKING: c_uint = 1;
/// `CUDA_ERROR_NOT_READY`: work that the event recorded is pending.
const NOT_READY: c_int = 600;
/// `CUDA_ERROR_NOT_SUPPORTED`.
const NOT_SUPPORTED: c_int = 801;

/// A stream that is destroyed on drop. Its enqueued work still runs.
struct OwnStream {
    calls: &'static ContextCalls,
    device: Device,
    raw: *mut c_void,
}

impl OwnStream {
    fn new(calls: &'static ContextCalls, device: Device) -> Result<Self, Error> {
        let mut raw = ptr::null_mut();
        // SAFETY: 1. A documented flag, and a place for the result.
        unsafe { calls.stream_create(device, &raw mut raw, NON_BLOCKING) }?;
        Ok(Self { calls, device, raw })
    }
}

impl Drop for OwnStream {
    fn drop(&mut self) {
        // SAFETY: 1. `new` created it, and it is not used any more. An error cannot be reported
        // here.
        let _ = unsafe { self.calls.stream_destroy(self.device, self.raw) };
    }
}

/// Calls `enqueue` with a stream whose later work begins after all work that is enqueued in the
/// context.
///
/// # Safety
///
/// 1. `context` is the primary context of the GPU of `device`, and is current.
pub(super) unsafe fn after_all_work<V: Vendor>(
    runtime: &'static Runtime<V>,
    calls: &'static ContextCalls,
    (device, ordinal): (Device, i32),
    context: *mut c_void,
    enqueue: &dyn Fn(*mut c_void) -> Result<(), Error>,
) -> Result<AllWork, Error> {
    let event = GpuEvent::new(runtime, device, ordinal)?;
    // SAFETY: 1. By our caller's 1, the context exists, and the event was created in it.
    match unsafe { calls.record_context(device, context, event.as_ptr()) } {
        Err(Error::Device { code: NOT_SUPPORTED, .. }) => return Ok(AllWork::Unknown),
        outcome => outcome?,
    }
    // SAFETY: 1. The event lives until the end of the function.
    match unsafe { calls.event_query(device, event.as_ptr()) } {
        Ok(()) => return Ok(AllWork::Done),
        Err(Error::Device { code: NOT_READY, .. }) => {}
        Err(error) => return Err(error),
    }
    let stream = OwnStream::new(calls, device)?;
    // SAFETY: 1. Both live until the end of the function; 0 is the documented value for no flags.
    unsafe { runtime.calls.stream_wait(device, stream.raw, event.as_ptr(), 0) }?;
    enqueue(stream.raw)?;
    Ok(AllWork::Enqueued)
}
