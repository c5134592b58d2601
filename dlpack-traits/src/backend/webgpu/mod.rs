//! WebGPU: [`WebGpu`].
//!
//! Uses the C interface of wgpu-native, for devices that a program has created with it.
//! `data` is the `WGPUBuffer`.
//!
//! The C interface of wgpu-native needs 17 functions, and is the only one through which
//! another library could pass a `WGPUBuffer`. The crate `wgpu` is 78 crates, needs a later
//! Rust, and would fix the version for all users. wgpu-native ends the process on an error
//! without an error scope, so each call that may fail has one.

mod memory;
mod queue;
mod sys;

use core::ffi::c_void;
use core::ptr::{self, NonNull};
use std::boxed::Box;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::vec::Vec;

use libloading::Library;

use self::memory::{COPY_DST, COPY_SRC, STORAGE, Units, create, enqueue, read, units, write};
use self::queue::AdoptedDevice;
pub use self::queue::{WebGpuEvent, WebGpuStream};
use self::sys::Calls;
use crate::backend::memory::Direction;
use crate::backend::{
    Backend, MemoryRange, MemoryRef, MemoryType, Stream, StreamHandle, WorkStream,
};
use crate::device::Device;
use crate::error::Error;
use crate::ffi;

/// WebGPU: buffers of a `WGPUDevice` of wgpu-native, and its queue as the stream.
///
/// - `data` is a `WGPUBuffer` with the usages `CopySrc` and `CopyDst`: pointer arithmetic
///   is not allowed, and offsets are in `byte_offset`.
/// - The id of a device is its index among the `WGPUDevice`s that this process adopted.
/// - A device has one queue, which executes in order, so synchronizing with a consumer does
///   nothing, unless the consumer passes no stream: then the host waits.
/// - WebGPU copies in units of four bytes. A copy to the device, or on it, that begins or
///   ends inside of a unit is [`Error::Unsupported`], unless it ends with the buffer.
#[derive(Clone, Copy, Debug)]
pub struct WebGpu;

/// All adopted devices, which are never removed.
fn adopted() -> MutexGuard<'static, Vec<&'static AdoptedDevice>> {
    static ADOPTED: Mutex<Vec<&AdoptedDevice>> = Mutex::new(Vec::new());
    ADOPTED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the adopted device with that id.
fn known(device: Device) -> Result<&'static AdoptedDevice, Error> {
    let served = device.device_type() == ffi::kDLWebGPU;
    let index = usize::try_from(device.device_id()).ok().filter(|_| served);
    index.and_then(|index| adopted().get(index).copied()).ok_or(Error::NoBackend { device })
}

impl WebGpu {
    /// Registers a `WGPUDevice` with this process, which permanently keeps a reference to
    /// it. The result is the device of all tensors on it. Adopting a device again returns
    /// the same result.
    ///
    /// This backend opens error scopes around its calls. Error scopes that the program
    /// opens at the same time on other threads may receive this backend's errors, and the
    /// reverse.
    ///
    /// # Errors
    ///
    /// [`Error::NoLibrary`], and [`Error::Unsupported`] for a library that lacks a required
    /// function.
    ///
    /// # Safety
    ///
    /// 1. `library` is the file of wgpu-native that made `device`, with the
    ///    `webgpu.h` of its release 24 or later.
    /// 2. `device` is a `WGPUDevice`, and alive during the call.
    pub unsafe fn adopt(
        library: impl AsRef<Path>,
        device: NonNull<c_void>,
    ) -> Result<Device, Error> {
        let none = Device::new(ffi::kDLWebGPU, 0);
        // SAFETY: by our caller's 1; its initializers ran when the program loaded it.
        let library = unsafe { Library::new(library.as_ref()) }
            .map_err(|_| Error::NoLibrary { name: "libwgpu_native" })?;
        // SAFETY: 1. By our caller's 1; the record of the device keeps the library.
        let calls = unsafe { Calls::load(&library, none, 0) }?;
        // Each device has one record, whose lock serializes its error scopes.
        let mut all = adopted();
        let raw: *const _ = device.as_ptr().cast();
        let index = all.iter().position(|known| ptr::eq(known.device(), raw)).unwrap_or(all.len());
        if index == all.len() {
            // SAFETY: 1. By our caller's 2.
            let new = unsafe { AdoptedDevice::of(library, calls, device) };
            let new = new.ok_or(Error::Unsupported { device: none, what: "queue" })?;
            all.push(Box::leak(Box::new(new)));
        }
        Ok(Device::new(ffi::kDLWebGPU, i32::try_from(index).unwrap_or(i32::MAX)))
    }
}

// SAFETY: 1. Both return the one stream of the device. 2. The handle of the queue lives as
// long as its device, which is kept. 3. So does the stream. 4. All work is on that queue. 7. It
// lives as long as the process. 8. By the WebGPU specification:
// `allocate`: 1. and 2. Buffers are new, and filled with zeros.
// `deallocate`: 1. to 3. A released buffer stays until submitted work is done with it, all of
// which is on the one queue of the device; any thread may release it.
// `copy`: 1. Only the bytes of `Units::exactly` are written; bytes that are read in addition
// remain in the staging buffer. Host memory is read, and written, before the call returns. 2. One
// call enqueues for each copy; in copies to the host, the calls after it that may fail do not read
// host memory.
// 9. A `WGPUBuffer` is a handle.
unsafe impl Backend for WebGpu {
    const MEMORY_TYPES: &'static [MemoryType] = &[MemoryType::with_handles(ffi::kDLWebGPU)];
    const STREAMS_LAST: bool = true;
    const SYNCHRONIZE_DEVICE: Option<fn(Device) -> Result<(), Error>> =
        Some(|device| WebGpuStream::new(device, known(device)?).synchronize());
    type Stream = WebGpuStream;

    fn current_stream(device: Device) -> Result<WorkStream<Self>, Error> {
        let stream = WebGpuStream::new(device, known(device)?);
        // SAFETY: 1. The queue exists under its handle as long as the process. 2. It is a
        // queue of the device.
        Ok(unsafe { WorkStream::new(device, stream.handle(), stream) })
    }

    unsafe fn borrow_stream(device: Device, handle: StreamHandle) -> Result<WebGpuStream, Error> {
        let stream = WebGpuStream::new(device, known(device)?);
        let what = "queue but its own";
        if stream.handle() == handle {
            Ok(stream)
        } else {
            Err(Error::Unsupported { device, what })
        }
    }

    fn allocate(stream: &WorkStream<Self>, byte_len: usize) -> Result<MemoryRange, Error> {
        let usage = COPY_SRC | COPY_DST | STORAGE;
        let buffer = create(stream.stream(), byte_len as u64, usage)?;
        Ok(MemoryRange::new(buffer.into_raw(), byte_len))
    }

    unsafe fn deallocate(stream: &WorkStream<Self>, memory: MemoryRange) -> Result<(), Error> {
        // SAFETY: 1. By our caller's 1 it is ours, and it is not used any more.
        unsafe { stream.stream().known().calls().buffer_release(memory.data.as_ptr()) };
        Ok(())
    }

    unsafe fn deallocate_after_all(
        stream: &WorkStream<Self>,
        memory: MemoryRange,
    ) -> Result<(), Error> {
        // SAFETY: 1. and 2. By our caller's 1 and 2: the device has one queue.
        unsafe { Self::deallocate(stream, memory) }
    }

    unsafe fn copy(
        stream: &WorkStream<Self>,
        from: MemoryRef,
        to: MemoryRef,
        byte_len: usize,
    ) -> Result<(), Error> {
        let (stream, is_ours) = (stream.stream(), |device| device == stream.device());
        // SAFETY: 1. By our caller's 1.
        let units = |place, of| unsafe { units(stream, place, byte_len, of) };
        match Direction::of(&from, &to, is_ours, "copy by this WGPUDevice")? {
            Direction::OnDevice => {
                let source = units(&from, Units::exactly);
                let target = units(&to, Units::exactly)?;
                // SAFETY: 1. By our caller's 1.
                unsafe { enqueue(stream, source?, target) }
            }
            Direction::FromHost => {
                let units = units(&to, Units::exactly)?;
                // SAFETY: 1. By our caller's 1 the host has the bytes; `units` is of a live
                // buffer.
                unsafe { write(stream, from.address(), byte_len, units) }
            }
            Direction::ToHost => {
                let units = units(&from, Units::around)?;
                let skip = usize::try_from(from.byte_offset.saturating_sub(units.byte_offset));
                let skip = skip.map_err(|_| Error::SizeOverflow)?;
                // SAFETY: 1. and 2. By our caller's 1.
                unsafe { read(stream, units, skip, to.address(), byte_len) }
            }
        }
    }
}
