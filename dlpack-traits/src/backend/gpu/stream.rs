//! Streams and events of a GPU: [`GpuStream`], [`GpuEvent`].
//!
//! Neither runtime counts references to a stream, so `STREAMS_LAST` is false. Memory that a
//! consumer used on its own stream is freed after all work of the device (`Vendor::all_work`, or a
//! wait of the host). A default stream, or one that the consumer promised to keep, needs only an
//! event.

use alloc::sync::Arc;
use core::any::Any;
use core::ffi::{c_uint, c_void};
use core::fmt;
use core::marker::PhantomData;
use core::ptr::{self, NonNull};

use super::vendor::{self, Relaxed, Runtime, Vendor, runtime};
use crate::backend::{Event, Stream, StreamHandle};
use crate::device::Device;
use crate::error::Error;

/// `CU_EVENT_DISABLE_TIMING`: the event is only used for ordering.
const ONLY_ORDERS: c_uint = 2;
/// `CUDA_ERROR_STREAM_CAPTURE_IMPLICIT`, and ROCm's error of the same name: a stream is
/// being captured that synchronizes implicitly with the default stream.
const CAPTURE_OF_ANOTHER: i64 = 906;

/// The owner that keeps a stream alive.
pub(super) type StreamOwner = Arc<dyn Any + Send + Sync>;

/// Drops the owner of a stream, on any thread, with the stream's GPU current. The owner may
/// make that GPU current without restoring the previous one, as a `CudaStream` of cudarc
/// does.
struct StreamKeeper<V: Vendor> {
    device: Device,
    ordinal: i32,
    owner: Option<StreamOwner>,
    vendor: PhantomData<fn() -> V>,
}

impl<V: Vendor> Drop for StreamKeeper<V> {
    fn drop(&mut self) {
        let _current = vendor::enter::<V>(self.device, self.ordinal);
        drop(self.owner.take());
    }
}

/// A stream of a GPU: its handle, and the owner that keeps it alive, if known.
pub struct GpuStream<V> {
    pub(super) device: Device,
    pub(super) ordinal: i32,
    handle: StreamHandle,
    owner: Option<StreamOwner>,
    vendor: PhantomData<fn() -> V>,
}

impl<V> GpuStream<V> {
    pub(super) const fn new(device: Device, ordinal: i32, handle: StreamHandle) -> Self {
        Self { device, ordinal, handle, owner: None, vendor: PhantomData }
    }

    /// The stream, for calls; `None` for the default one. Small numbers are other default streams.
    pub(super) fn get(&self) -> Option<&vendor::Stream> {
        // SAFETY: the stream lives as long as `self` is used, and the kind has no fields.
        unsafe { self.handle.as_ptr().cast::<vendor::Stream>().as_ref() }
    }

    /// The same stream, for another kind of memory that its GPU can access.
    pub(super) fn of(self, device: Device) -> Self {
        Self { device, ..self }
    }
}

impl<V: Vendor> GpuStream<V> {
    /// The same stream, kept alive by `owner`.
    pub(super) fn kept_by(self, owner: StreamOwner) -> Self {
        let (device, ordinal, vendor) = (self.device, self.ordinal, PhantomData);
        let kept: StreamKeeper<V> = StreamKeeper { device, ordinal, owner: Some(owner), vendor };
        Self { owner: Some(Arc::new(kept)), ..self }
    }

    /// The same stream, for memory of the GPU itself.
    pub(super) fn of_gpu(&self) -> Self {
        self.clone().of(Device::new(V::DEVICE, self.ordinal))
    }
}

impl<V> Clone for GpuStream<V> {
    fn clone(&self) -> Self {
        Self { owner: self.owner.clone(), ..Self::new(self.device, self.ordinal, self.handle) }
    }
}

impl<V> fmt::Debug for GpuStream<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {}", self.handle, self.device)
    }
}

/// Borrows the stream behind a handle, if it belongs to the device's primary context.
///
/// # Safety
///
/// 1. `handle` names a stream, and is alive as long as the result is used.
pub(super) unsafe fn borrow<V: Vendor>(
    device: Device,
    handle: StreamHandle,
) -> Result<GpuStream<V>, Error> {
    let runtime = runtime::<V>()?;
    let ordinal = runtime.ordinal(device)?;
    let _current = V::enter(runtime, device, ordinal)?;
    // SAFETY: 1. By our caller's 1.
    unsafe { V::check_stream(runtime, device, ordinal, handle) }?;
    Ok(GpuStream::new(device, ordinal, handle))
}

// SAFETY: by the documentation of both runtimes:
// 1 (order): a stream executes its work in order.
// 2 and 3 (`record`, `wait`): an event is reached after the work before it, and work after a
// wait begins after the event.
// 4 (only enqueue): both make only calls that a capture records.
// 5 (`synchronize`): the call returns after all work of the stream.
// 6 (any thread): each call makes the GPU current first.
// 7 (clone): it has the same handle.
// 8 (`is_captured`): the runtime is queried.
// 9 (`is_same`): the default, with which handles are compared.
// 10 (`can_follow`): `borrow` rejects streams of other contexts.
// 11 (`fence`): a stream has an order already.
unsafe impl<V: Vendor> Stream for GpuStream<V> {
    type Event = GpuEvent<V>;

    const IN_ORDER: bool = true;
    const GRAPHS: bool = true;

    fn record(&self) -> Result<GpuEvent<V>, Error> {
        let (runtime, _current) = vendor::enter::<V>(self.device, self.ordinal)?;
        let event = GpuEvent::new(runtime, self.device, self.ordinal)?;
        // The event is of the context of the stream.
        runtime.calls.event_record(self.device, event.get(), self.get())?;
        Ok(event)
    }

    fn wait(&self, event: &GpuEvent<V>) -> Result<(), Error> {
        let (runtime, _current) = vendor::enter::<V>(self.device, self.ordinal)?;
        // 0 is the documented value for no flags.
        runtime.calls.stream_wait(self.device, self.get(), event.get(), 0)
    }

    fn synchronize(&self) -> Result<(), Error> {
        // In another context, the handle of a default stream names a different stream.
        let (runtime, _current) = vendor::enter::<V>(self.device, self.ordinal)?;
        let _relaxed = Relaxed::new(runtime, self.device)?;
        runtime.calls.stream_synchronize(self.device, self.get())
    }

    fn is_captured(&self) -> Result<bool, Error> {
        let (runtime, _current) = vendor::enter::<V>(self.device, self.ordinal)?;
        let mut status: c_uint = 0;
        runtime.calls.stream_is_capturing(self.device, self.get(), &mut status)?;
        Ok(status != 0)
    }

    /// A legacy default stream synchronizes implicitly with the blocking streams of its
    /// context.
    fn is_blocked(&self) -> bool {
        let legacy = self.handle.number() <= 1;
        let blocked =
            || matches!(self.is_captured(), Err(Error::Device { code: CAPTURE_OF_ANOTHER, .. }));
        legacy && blocked()
    }
}

/// Waits on the host for all work of the device's primary context.
pub(super) fn synchronize_device<V: Vendor>(device: Device) -> Result<(), Error> {
    let runtime = runtime::<V>()?;
    let _current = V::enter(runtime, device, runtime.ordinal(device)?)?;
    let _relaxed = Relaxed::new(runtime, device)?;
    runtime.calls.synchronize_device(device)
}

/// An event of a GPU.
pub struct GpuEvent<V: Vendor> {
    device: Device,
    ordinal: i32,
    raw: NonNull<c_void>,
    vendor: PhantomData<fn() -> V>,
}

impl<V: Vendor> GpuEvent<V> {
    /// Creates an event in which nothing is recorded. The GPU is current.
    pub(super) fn new(
        runtime: &'static Runtime<V>,
        device: Device,
        ordinal: i32,
    ) -> Result<Self, Error> {
        let mut event = ptr::null_mut();
        runtime.calls.event_create(device, &mut event, ONLY_ORDERS)?;
        let raw = NonNull::new(event).ok_or(Error::Unsupported { device, what: "events" })?;
        Ok(Self { device, ordinal, raw, vendor: PhantomData })
    }

    pub(super) fn get(&self) -> &vendor::Event {
        // SAFETY: it was created with `self`, and is destroyed with it.
        unsafe { self.raw.cast().as_ref() }
    }
}

// SAFETY: the runtimes document that any thread may use an event.
unsafe impl<V: Vendor> Send for GpuEvent<V> {}

// SAFETY: 1. The runtimes document that an event may be destroyed before it is reached, and
// that streams still wait for the work that it recorded.
unsafe impl<V: Vendor> Event for GpuEvent<V> {}

impl<V: Vendor> Drop for GpuEvent<V> {
    fn drop(&mut self) {
        let Ok(runtime) = runtime::<V>() else { return };
        // If no context can be made current, the event is destroyed without one, as
        // documented.
        let _current = V::enter(runtime, self.device, self.ordinal);
        // SAFETY: 1. `record` created it, and it is not used any more. An error cannot be
        // reported here.
        let _ = unsafe { runtime.calls.event_destroy(self.device, self.raw.as_ptr()) };
    }
}

impl<V: Vendor> fmt::Debug for GpuEvent<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "event {:?} of {}", self.raw, self.device)
    }
}
