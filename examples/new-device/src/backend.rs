//! The backend: five functions.

use dlpack_traits::backend::{
    AllocatorOf, AttributesOf, Backend, Event, MemcpyOf, Stream, StreamHandle, WorkStream,
};
use dlpack_traits::{Device, Error, ffi};

use crate::runtime::{self, Code};

/// The backend of the accelerators in `runtime`, whose DLPack device type is kDLExtDev.
#[derive(Clone, Copy, Debug)]
pub struct Npu;

// SAFETY: 1. The runtime looks streams up among those of the device. 2. `RULES` is the
// default, which defines no numbers. 3. A `runtime::Stream` is reference-counted and keeps
// the queue alive. 4. The backend does not have this function.
unsafe impl Backend for Npu {
    const DEVICE_TYPES: &'static [ffi::DLDeviceType] = &[ffi::kDLExtDev];
    const STREAMS_LAST: bool = true;
    type Stream = runtime::Stream;

    fn current_stream(device: Device) -> Result<WorkStream<Self>, Error> {
        let stream = runtime::current_stream(index(device)?).map_err(failed(device, "current"))?;
        // SAFETY: 1. The handle is that of the stream, which lives with its clones.
        // 2. It was asked of the device.
        Ok(unsafe { WorkStream::new(device, StreamHandle::from_number(stream.handle()), stream) })
    }

    unsafe fn borrow_stream(device: Device, handle: StreamHandle) -> Result<Self::Stream, Error> {
        runtime::find_stream(index(device)?, handle.number()).map_err(failed(device, "find_stream"))
    }

    // Implemented in `memory.rs`. Exports do not need them.
    const ALLOCATOR: Option<AllocatorOf<Self>> = Some(AllocatorOf::THIS);
    const MEMCPY: Option<MemcpyOf<Self>> = Some(MemcpyOf::THIS);
    const ATTRIBUTES: Option<AttributesOf<Self>> = Some(AttributesOf::THIS);
}

// SAFETY: 1. A stream is one thread, which takes work from a channel. 2. An event
// is work. 3. So is waiting for one, and a mutex orders the memory. 4. Both are
// put into the channel, which has no bound. 5. It waits for an event. 6. They
// are functions of Rust, on types that are `Sync`. 7. A clone sends to the same channel. 8. to
// 11. The runtime has no graphs and does not reuse handles, all events are of one kind, and
// the channel is ordered.
unsafe impl Stream for runtime::Stream {
    type Event = runtime::Event;

    fn record(&self) -> Result<Self::Event, Error> {
        Ok(self.record())
    }

    fn wait(&self, event: &Self::Event) -> Result<(), Error> {
        self.wait(event);
        Ok(())
    }

    fn synchronize(&self) -> Result<(), Error> {
        let device = Device::new(ffi::kDLExtDev, i32::try_from(self.device()).unwrap_or(-1));
        self.synchronize().map_err(failed(device, "synchronize"))
    }
}

// SAFETY: 1. It is reference-counted; each waiter has its own reference.
unsafe impl Event for runtime::Event {}

/// The runtime's number of a device.
fn index(device: Device) -> Result<usize, Error> {
    match usize::try_from(device.device_id()) {
        Ok(index) if device.device_type() == ffi::kDLExtDev && index < runtime::DEVICES => {
            Ok(index)
        }
        _ => Err(Error::NoBackend { device }),
    }
}

/// Converts a code of the runtime to an error.
pub(crate) fn failed(device: Device, call: &'static str) -> impl FnOnce(Code) -> Error {
    move |code| Error::Device { device, call, code: code.0 }
}
