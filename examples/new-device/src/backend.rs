//! The backend: five functions, and those that are optional.

use core::ffi::c_void;
use core::ptr::NonNull;

use dlpack_traits::backend::{
    ArrayStream, Attributes, Backend, Event, MemoryRange, MemoryRef, MemoryType, Stream,
    StreamHandle, WorkStream, device_error,
};
use dlpack_traits::{Device, Error, ffi};

use crate::runtime::{self, Address, Code, OUT_OF_MEMORY};

/// The backend of the accelerators in `runtime`, whose DLPack device type is kDLExtDev.
#[derive(Clone, Copy, Debug)]
pub struct Npu;

// SAFETY: 1. The runtime looks streams up among those of the device. 2. `RULES` is the
// default, which defines no numbers. 3. A `runtime::Stream` is reference-counted and keeps
// the queue alive. 4. The backend does not have this function. 8. `allocate`: an address is
// allocated once, with its own bytes, which the runtime zeroes before it returns. `deallocate`: a
// free is work of the stream, which any thread may enqueue; the processor cannot follow an
// address. `copy`: the copies are work of the stream, and access only the given ranges.
// `attributes`: the runtime looks the address up among its allocations. 9. Nothing is added to an
// address of the runtime, and the processor cannot follow it. 10. The vendor's stream objects make
// such capsules.
unsafe impl Backend for Npu {
    const MEMORY_TYPES: &'static [MemoryType] = &[MemoryType::with_handles(ffi::kDLExtDev)];
    const STREAMS_LAST: bool = true;
    const STREAM_METHOD: Option<&'static str> = Some("__npu_stream__");
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

    // Exports do not need the functions below.

    fn allocate(stream: &WorkStream<Self>, byte_len: usize) -> Result<MemoryRange, Error> {
        let address = stream.stream().allocate(byte_len).map_err(|code| match code {
            OUT_OF_MEMORY => Error::OutOfMemory { bytes: byte_len },
            code => failed(stream.device(), "allocate")(code),
        })?;
        let data = NonNull::new(address.as_ptr()).ok_or(Error::OutOfMemory { bytes: byte_len })?;
        Ok(MemoryRange::new(data, byte_len))
    }

    unsafe fn deallocate(stream: &WorkStream<Self>, memory: MemoryRange) -> Result<(), Error> {
        stream.stream().free(Address::from_ptr(memory.data.as_ptr()));
        Ok(())
    }

    unsafe fn copy(
        stream: &WorkStream<Self>,
        from: MemoryRef,
        to: MemoryRef,
        byte_len: usize,
    ) -> Result<(), Error> {
        let queue = stream.stream();
        let ours = |place: &MemoryRef| index(place.device).is_ok();
        let inside = |place: &MemoryRef| {
            let byte_offset = usize::try_from(place.byte_offset).unwrap_or(usize::MAX);
            (Address::from_ptr(place.data), byte_offset)
        };
        if ours(&from) && ours(&to) {
            queue.copy(inside(&from), inside(&to), byte_len);
        } else if ours(&from) && to.device == Device::CPU {
            // SAFETY: 1. By 1.
            unsafe { queue.copy_to_host(inside(&from), to.address(), byte_len) };
        } else if from.device == Device::CPU && ours(&to) {
            // SAFETY: 1. By 1.
            unsafe { queue.copy_from_host(from.address(), inside(&to), byte_len) };
        } else {
            return Err(Error::Unsupported { device: stream.device(), what: "copy between those" });
        }
        Ok(())
    }

    const ARRAY_STREAM: Option<ArrayStream> =
        Some(ArrayStream::new("npu_stream", "as_capsule", c"npu_stream"));

    fn attributes(data: *const c_void, hint: Device) -> Result<Attributes, Error> {
        let index = runtime::device_of(Address::from_ptr(data.cast_mut()));
        let index = index.and_then(|index| i32::try_from(index).ok());
        let index = index.ok_or(Error::NoBackend { device: hint })?;
        Ok(Attributes { device: Device::new(ffi::kDLExtDev, index), host_accessible: false })
    }
}

// SAFETY: 1. A stream is one thread, which takes work from a channel. 2. An event
// is work. 3. So is waiting for one, and a mutex orders the memory. 4. Both are
// put into the channel, which has no bound. 5. It waits for an event. 6. They
// are functions of Rust, on types that are `Sync`. 7. A clone sends to the same channel. 8. to
// 11. The runtime has no graphs and does not reuse handles, all events are of one kind, and
// the channel is ordered.
unsafe impl Stream for runtime::Stream {
    type Event = runtime::Event;

    const IN_ORDER: bool = true;
    const GRAPHS: bool = false;

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
    move |code| device_error(device, call, code.0.into(), "")
}
