//! Frees after all pending work of an NVIDIA GPU: [`after_all_work`].
//!
//! A consumer's stream may be destroyed before the consumer releases its tensor, so memory that it
//! used is freed after all work of the primary context. Before CUDA 12.5 only the host can wait for
//! that: a release during a kernel of 0.32 s took as long (on an H200). Since then, one event
//! records all work of a context, that of destroyed streams included.
//!
//! The frees are enqueued on a stream of their own: the buffer's stream would have to wait for
//! unrelated work of other libraries before its next kernel. There is one for each context; with
//! one for each free, 3,000 frees during a kernel took 264 µs each, and with one for all 9 µs.

use core::ffi::{c_uint, c_void};
use core::ptr;

use super::stream::{GpuEvent, GpuStream};
use super::vendor::{AllWork, Runtime, Vendor};
use crate::backend::append_list::AppendList;
use crate::backend::library::calls;
use crate::backend::{Stream as _, StreamHandle};
use crate::device::Device;
use crate::error::Error;

calls! {
    /// Functions of drivers for CUDA 12.5 and later.
    extern "C" ContextCalls {
        safe context_current(context: &mut *mut c_void): "cuCtxGetCurrent";
        safe stream_create(stream: &mut *mut c_void, flags: c_uint): "cuStreamCreate";
        code context_id(context: *mut c_void, id: *mut u64): "cuCtxGetId";
        code context_record(context: *mut c_void, event: *mut c_void): "cuCtxRecordEvent";
        code event_query(event: *mut c_void): "cuEventQuery";
    }
}

/// `CU_STREAM_NON_BLOCKING`: the stream does not synchronize with the legacy default stream.
const NON_BLOCKING: c_uint = 1;
/// `CUDA_ERROR_NOT_READY`: work that the event recorded is pending.
const NOT_READY: i64 = 600;

/// The stream for the frees of a GPU in each of its contexts, by the context's id: a reset of the
/// GPU destroys the context and its streams, and the next context has another id.
#[derive(Debug)]
pub(super) struct FreeStreams(AppendList<(u64, StreamHandle)>);

impl FreeStreams {
    pub(super) const fn new() -> Self {
        Self(AppendList::new())
    }

    /// Returns the stream in the current context. The first call creates it, and it is kept as long
    /// as the context.
    fn get(
        &self,
        calls: &'static ContextCalls,
        device: Device,
        context: *mut c_void,
    ) -> Result<StreamHandle, Error> {
        let mut id = 0;
        // SAFETY: 1. The context is current, and `id` is a place for the result.
        unsafe { calls.context_id(device, context, &raw mut id) }?;
        if let Some(&(_, stream)) = self.0.iter().find(|(of, _)| *of == id) {
            return Ok(stream);
        }
        let mut raw = ptr::null_mut();
        calls.stream_create(device, &mut raw, NON_BLOCKING)?;
        if raw.is_null() {
            return Err(Error::Unsupported { device, what: "streams" });
        }
        let stream = StreamHandle::from_ptr(raw);
        // Two threads may each create one.
        self.0.append((id, stream));
        Ok(stream)
    }
}

/// Calls `enqueue` with a stream whose later work begins after all work that is enqueued in the
/// primary context of the GPU, which is current.
///
/// # Errors
///
/// `enqueue`'s error. If another call fails, the result is [`AllWork::Unknown`], and the caller
/// waits for the device on the host.
pub(super) fn after_all_work<V: Vendor>(
    runtime: &'static Runtime<V>,
    calls: &'static ContextCalls,
    streams: &FreeStreams,
    (device, ordinal): (Device, i32),
    enqueue: impl FnOnce(StreamHandle) -> Result<(), Error>,
) -> Result<AllWork, Error> {
    match stream_after_all(runtime, calls, streams, (device, ordinal)) {
        Ok(Some(stream)) => enqueue(stream).map(|()| AllWork::Enqueued),
        Ok(None) => Ok(AllWork::Done),
        Err(_) => Ok(AllWork::Unknown),
    }
}

/// Returns the stream for frees, which waits for all work; `None` if no work is pending.
fn stream_after_all<V: Vendor>(
    runtime: &'static Runtime<V>,
    calls: &'static ContextCalls,
    streams: &FreeStreams,
    (device, ordinal): (Device, i32),
) -> Result<Option<StreamHandle>, Error> {
    let event = GpuEvent::new(runtime, device, ordinal)?;
    let mut context = ptr::null_mut();
    calls.context_current(device, &mut context)?;
    // SAFETY: 1. The context is current, and the event was created in it.
    unsafe { calls.context_record(device, context, event.as_ptr()) }?;
    // SAFETY: 1. The event lives until the end of the function.
    match unsafe { calls.event_query(device, event.as_ptr()) } {
        Ok(()) => return Ok(None),
        Err(Error::Device { code: NOT_READY, .. }) => {}
        Err(error) => return Err(error),
    }
    let stream = streams.get(calls, device, context)?;
    GpuStream::<V>::new(device, ordinal, stream).wait(&event)?;
    Ok(Some(stream))
}
