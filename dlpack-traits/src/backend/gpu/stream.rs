//! Streams and events of a GPU: [`GpuStream`], [`GpuEvent`].

use alloc::sync::Arc;
use core::any::Any;
use core::ffi::{c_int, c_uint, c_void};
use core::fmt;
use core::marker::PhantomData;
use core::ptr::{self, NonNull};

use super::runtime::{Relaxed, Vendor, runtime};
use crate::backend::{Event, Stream, StreamHandle};
use crate::device::Device;
use crate::error::Error;

/// `CU_EVENT_DISABLE_TIMING`: an event that only orders.
const ONLY_ORDERS: c_uint = 2;
/// `CUDA_ERROR_STREAM_CAPTURE_IMPLICIT`, and ROCm's error of the same name: a stream is
/// captured that takes turns with the default stream.
const CAPTURE_OF_ANOTHER: c_int = 906;

/// What keeps a stream alive.
pub(super) type StreamOwner = Arc<dyn Any + Send + Sync>;

/// Drops the owner of a stream, on whatever thread, with the stream's GPU current. The owner
/// may make that GPU current itself, as a `CudaStream` of cudarc does, and leave it so.
struct Kept<V: Vendor> {
    device: Device,
    ordinal: i32,
    owner: Option<StreamOwner>,
    vendor: PhantomData<fn() -> V>,
}

impl<V: Vendor> Drop for Kept<V> {
    fn drop(&mut self) {
        let _current =
            runtime::<V>().and_then(|runtime| V::enter(runtime, self.device, self.ordinal));
        drop(self.owner.take());
    }
}

/// A stream of a GPU: its name, and what keeps it alive where that is known.
pub struct GpuStream<V> {
    device: Device,
    ordinal: i32,
    handle: StreamHandle,
    owner: Option<StreamOwner>,
    vendor: PhantomData<fn() -> V>,
}

impl<V> GpuStream<V> {
    pub(super) const fn new(device: Device, ordinal: i32, handle: StreamHandle) -> Self {
        Self { device, ordinal, handle, owner: None, vendor: PhantomData }
    }

    pub(super) fn device(&self) -> Device {
        self.device
    }

    /// The same stream, for memory of another kind that its GPU reaches.
    pub(super) fn of(self, device: Device) -> Self {
        Self { device, ..self }
    }
}

impl<V: Vendor> GpuStream<V> {
    /// The same stream, which `owner` keeps alive.
    pub(super) fn kept_by(self, owner: StreamOwner) -> Self {
        let (device, ordinal, vendor) = (self.device, self.ordinal, PhantomData);
        let kept: Kept<V> = Kept { device, ordinal, owner: Some(owner), vendor };
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

/// The stream behind a handle, if it is of the device's primary context.
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
    // SAFETY: 1. By 1.
    unsafe { V::check_stream(runtime, device, ordinal, handle) }?;
    Ok(GpuStream::new(device, ordinal, handle))
}

// SAFETY: 1. to 3. are what the runtimes document of their streams and events. 4.
// The calls of `record` and `wait` are those that captures record. 5. They
// document that too. 6. The GPU is made current first. 7. It has the same handle. 8. The
// runtime is asked. 9. to 11. Handles are compared where the defaults do; `borrow` refuses
// streams of other contexts; streams have an order.
unsafe impl<V: Vendor> Stream for GpuStream<V> {
    type Event = GpuEvent<V>;

    fn record(&self) -> Result<GpuEvent<V>, Error> {
        let runtime = runtime::<V>()?;
        let _current = V::enter(runtime, self.device, self.ordinal)?;
        let mut event = ptr::null_mut();
        // SAFETY: 1. A documented flag, and a place for the answer.
        unsafe { runtime.calls.event_create(self.device, &raw mut event, ONLY_ORDERS) }?;
        let Some(raw) = NonNull::new(event) else {
            return Err(Error::Unsupported { device: self.device, what: "events" });
        };
        // From here on it is destroyed.
        let event =
            GpuEvent { device: self.device, ordinal: self.ordinal, raw, vendor: PhantomData };
        let handle = self.handle.as_ptr();
        // SAFETY: 1. The event is new, and of the context of the stream, which
        // lives as long as `self` is used.
        unsafe { runtime.calls.event_record(self.device, raw.as_ptr(), handle) }?;
        Ok(event)
    }

    fn wait(&self, event: &GpuEvent<V>) -> Result<(), Error> {
        let runtime = runtime::<V>()?;
        let _current = V::enter(runtime, self.device, self.ordinal)?;
        let handle = self.handle.as_ptr();
        // SAFETY: 1. The stream lives as long as `self` is used, the event as
        // long as it is borrowed; no flags are what is documented.
        unsafe { runtime.calls.stream_wait(self.device, handle, event.raw.as_ptr(), 0) }
    }

    fn synchronize(&self) -> Result<(), Error> {
        let runtime = runtime::<V>()?;
        // Without its context, the handle of a default stream would name another one.
        let _current = V::enter(runtime, self.device, self.ordinal)?;
        let _relaxed = Relaxed::new(runtime, self.device)?;
        // SAFETY: 1. The stream lives as long as `self` is used.
        unsafe { runtime.calls.stream_synchronize(self.device, self.handle.as_ptr()) }
    }

    fn is_captured(&self) -> Result<bool, Error> {
        let runtime = runtime::<V>()?;
        let _current = V::enter(runtime, self.device, self.ordinal)?;
        let mut status: c_uint = 0;
        let handle = self.handle.as_ptr();
        // SAFETY: 1. The stream lives as long as `self` is used, and the answer
        // has a place.
        unsafe { runtime.calls.stream_is_capturing(self.device, handle, &raw mut status) }?;
        Ok(status != 0)
    }

    /// A legacy default stream takes turns with the blocking streams of its context.
    fn is_blocked(&self) -> bool {
        let legacy = self.handle.number() <= 1;
        let blocked =
            || matches!(self.is_captured(), Err(Error::Device { code: CAPTURE_OF_ANOTHER, .. }));
        legacy && blocked()
    }
}

/// Waits for all work of the device's primary context.
pub(super) fn synchronize_device<V: Vendor>(device: Device) -> Result<(), Error> {
    let runtime = runtime::<V>()?;
    let _current = V::enter(runtime, device, runtime.ordinal(device)?)?;
    let _relaxed = Relaxed::new(runtime, device)?;
    // SAFETY: 1. There are no arguments.
    unsafe { runtime.calls.synchronize_device(device) }
}

/// An event of a GPU.
pub struct GpuEvent<V: Vendor> {
    device: Device,
    ordinal: i32,
    raw: NonNull<c_void>,
    vendor: PhantomData<fn() -> V>,
}

// SAFETY: the runtimes let any thread use an event.
unsafe impl<V: Vendor> Send for GpuEvent<V> {}

// SAFETY: 1. The runtimes document that an event may be destroyed before it is
// reached, and that streams wait for what it recorded all the same.
unsafe impl<V: Vendor> Event for GpuEvent<V> {}

impl<V: Vendor> Drop for GpuEvent<V> {
    fn drop(&mut self) {
        let Ok(runtime) = runtime::<V>() else { return };
        // Destroying needs no context where the runtime keeps its word.
        let _current = V::enter(runtime, self.device, self.ordinal);
        // SAFETY: 1. `record` created it, and nobody names it any more. An error
        // has nobody to tell.
        let _ = unsafe { runtime.calls.event_destroy(self.device, self.raw.as_ptr()) };
    }
}

impl<V: Vendor> fmt::Debug for GpuEvent<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "event {:?} of {}", self.raw, self.device)
    }
}
