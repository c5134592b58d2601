//! oneAPI: unified shared memory (USM) of SYCL, [`OneApi`].
//!
//! DPCTL, the C interface of Python's package `dpctl`, is lazily loaded. SYCL itself has a
//! C++ interface, whose symbols change with every release.

mod devices;
mod queue;
mod sys;
mod usm;

use core::ffi::c_void;
use std::path::Path;

use devices::{LOADED, Root, runtime};
pub use queue::{OneApiEvent, OneApiQueue};
use usm::{Context, find};
use usm::{Owned, free, zeroed};
pub use usm::{Usm, UsmKind};

use crate::backend::frees::run_blocking;
use crate::backend::stream_guard::{self, StreamGuard};
use crate::backend::{
    ArrayStream, Attributes, Backend, DeviceBuffer, FreeOrder, MemoryRange, MemoryRef, MemoryType,
    StreamHandle, WorkStream,
};
use crate::device::Device;
use crate::dtype::DataType;
use crate::error::Error;
use crate::ffi;

/// oneAPI: memory that SYCL shares between devices and the host (USM), as used by dpnp and
/// PyTorch's XPU.
///
/// - The id of a device is its index among the root devices that DPCTL lists. Memory can be
///   exchanged if it is bound to the default context of the device's platform, and is
///   rejected otherwise ([`recognize`](Self::recognize), [`exported`](Self::exported)).
/// - A stream is a `sycl::queue`, and its handle the address of one, as returned by
///   `SyclQueue.addressof_ref()` of `dpctl` and `Stream.sycl_queue` of PyTorch. A borrowed
///   queue is a copy with its own reference, whatever happens to the handle. If the
///   consumer passes no stream, the host waits for pending work.
/// - Queues are synchronized by a barrier on each. Memory is freed after a wait on the host
///   for the queues that consumers named.
/// - DPCTL catches and prints the exceptions of SYCL in all functions that fail in
///   practice; such an error has the code 0. An exception that it does not catch aborts the
///   process.
///
/// The library is found if Python has imported `dpctl`, or by the system's loader;
/// [`load`](Self::load) takes its path. It is tested with dpctl 0.22.
///
/// ```no_run
/// use dlpack_traits::backend::{DeviceBuffer, OneApi};
/// use dlpack_traits::{DataType, Device, ffi};
///
/// let device = Device::new(ffi::kDLOneAPI, 0);
/// let zeros = DeviceBuffer::<OneApi>::zeroed(device, DataType::F32, 1024)?;
/// assert_eq!(zeros.to_vec::<f32>()?, [0.0; 1024]);
/// # Ok::<(), dlpack_traits::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct OneApi;

impl OneApi {
    /// Loads DPCTL from a file, unless the process has loaded it already: two copies of
    /// SYCL do not recognize each other's memory.
    ///
    /// # Errors
    ///
    /// [`Error::NoLibrary`], and [`Error::Unsupported`] if a function is missing.
    ///
    /// # Safety
    ///
    /// 1. The file, if there is one, is DPCTL's library (`libDPCTLSyclInterface.so`).
    pub unsafe fn load(file: &Path) -> Result<(), Error> {
        // SAFETY: 1. By our caller's 1.
        unsafe { LOADED.load(file, true) }.map(drop)
    }

    /// The number of root devices.
    ///
    /// # Errors
    ///
    /// [`Error::NoLibrary`], and those of the runtime.
    pub fn device_count() -> Result<usize, Error> {
        Ok(runtime()?.roots.len())
    }

    /// Copies a queue of another library into a stream with its own handle.
    ///
    /// # Errors
    ///
    /// [`Error::NoBackend`], [`Error::StreamRefused`] for NULL, and [`Error::Unsupported`]
    /// for a queue of another device or of a context that is not its platform's default.
    ///
    /// # Safety
    ///
    /// 1. `handle` is NULL or the address of a `sycl::queue` that is alive during
    ///    the call.
    pub unsafe fn work_stream(
        device: Device,
        handle: StreamHandle,
    ) -> Result<WorkStream<Self>, Error> {
        // SAFETY: 1. By our caller's 1.
        unsafe { runtime()?.borrow_queue(device, handle) }.map(work_stream)
    }

    /// Looks up imported memory: the attributes of an address that was imported with
    /// `device`. The address is not dereferenced.
    ///
    /// # Errors
    ///
    /// [`Error::NoBackend`] for a device that does not exist, and for an address that is
    /// not bound to the default context of its platform; [`Error::DeviceMismatch`] if the
    /// memory belongs to another root device; [`Error::Unsupported`] for a device without
    /// USM.
    pub fn recognize(data: *const c_void, device: Device) -> Result<Usm, Error> {
        let runtime = runtime()?;
        let root = runtime.root(device)?;
        let context = Context { runtime, root, raw: root.context.get(), unknown: device };
        let found = find(&context, data.cast_mut(), device)?;
        if found.kind == UsmKind::Host {
            return Ok(Usm { device, ..found });
        }
        if found.device == device {
            return Ok(found);
        }
        Err(Error::DeviceMismatch { device, storage: found.device })
    }

    /// The device id for an export of the memory: the index of its root device, if it is
    /// bound to the default context of the platform.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] for another context, [`Error::NoBackend`] for an address that
    /// is not bound to `context`.
    ///
    /// # Safety
    ///
    /// 1. `context` is a pointer to a `sycl::context` that is alive.
    pub unsafe fn exported(data: *const c_void, context: *mut c_void) -> Result<Usm, Error> {
        let runtime = runtime()?;
        let unknown = Device::new(ffi::kDLOneAPI, 0);
        let what = "way to export memory of a context that is not its platform's default";
        let refused = Error::Unsupported { device: unknown, what };
        // SAFETY: by our caller's 1 it is a context, and alive.
        let context = unsafe { context.cast::<sys::Context>().as_ref() }.ok_or(refused)?;
        let is_of = |root: &&Root| runtime.calls.context_are_eq(root.context.get(), context);
        let root = runtime.roots.iter().find(is_of).ok_or(refused)?;
        find(&Context { runtime, root, raw: context, unknown }, data.cast_mut(), unknown)
    }

    /// Allocates `len` elements in memory of a kind, all of them zero, for work
    /// on the queue. [`DeviceBuffer::zeroed`] returns memory of the kind
    /// [`Device`](UsmKind::Device).
    ///
    /// # Errors
    ///
    /// Those of [`DeviceBuffer::zeroed`], and [`Error::Unsupported`] for a device
    /// that does not have the kind.
    pub fn zeroed_usm(
        kind: UsmKind,
        stream: WorkStream<Self>,
        dtype: DataType,
        len: usize,
    ) -> Result<DeviceBuffer<Self>, Error> {
        if kind == UsmKind::Device {
            return DeviceBuffer::zeroed_on(stream, dtype, len);
        }
        let byte_len = DeviceBuffer::<Self>::byte_len_of(dtype, len)?;
        let queue = stream.stream().clone();
        let data = zeroed(&queue, kind, byte_len.max(1))?;
        let (owner, memory) = (Owned { queue, data }, MemoryRange::new(data, byte_len));
        // SAFETY: 1. It has that length, until the owner is dropped. 2. It is
        // zeroed in the order of the stream, any bits are valid, and its
        // alignment is greater. 3. It is new, and nothing here makes a
        // reference to it. 4. The fill with zeros is the only work, and is
        // enqueued on the stream. 5. The owner frees at once.
        Ok(unsafe {
            DeviceBuffer::from_raw_parts(memory, dtype, stream, owner, FreeOrder::Immediate)
        })
    }

    /// Makes the queue the current one of this thread, until the guard is dropped: new
    /// memory is allocated for it, and consumers work on it too (`current_work_stream`).
    pub fn enter(stream: WorkStream<Self>) -> StreamGuard {
        stream_guard::enter(stream)
    }
}

/// Converts a queue into a work stream of its device. Its handle is the address of this
/// copy.
fn work_stream(queue: OneApiQueue) -> WorkStream<OneApi> {
    let (device, handle) = (queue.device(), StreamHandle::from_ptr(queue.raw()));
    // SAFETY: 1. The handle is an object that the stream keeps. 2. `OneApiRuntime::queue` and
    // `OneApiRuntime::borrow_queue` only make queues of their device.
    unsafe { WorkStream::new(device, handle, queue) }
}

// SAFETY: 1. Both check the device. 2. The rules have no default streams. 3. A borrowed
// queue is a copy, which holds its own reference. 4. It is not defined. 7. The handle
// is the address of that copy. 8. By the SYCL specification:
// `allocate`: 1. The memory is new, with a greater alignment. 2. Zeros are written in the order
// of the queue.
// `deallocate`: 1. and 2. The host waits for the queue. 3. Any thread may free. It cannot wait
// for all queues, so `deallocate_after_all` is an error.
// `copy`: 1. Exactly `byte_len` bytes are copied; `enqueue` guarantees the order. 2. The copy is
// the last call that can fail.
// `attributes`: 1. `recognize` queries SYCL.
// 9. Unified shared memory has addresses. 10. By the convention of dpctl, such a capsule owns a
// `sycl::queue`.
unsafe impl Backend for OneApi {
    const MEMORY_TYPES: &'static [MemoryType] = &[MemoryType::with_addresses(ffi::kDLOneAPI)];
    const STREAMS_LAST: bool = true;
    const STREAM_METHOD: Option<&'static str> = Some("addressof_ref");
    const ARRAY_STREAM: Option<ArrayStream> =
        Some(ArrayStream::new("sycl_queue", "_get_capsule", c"SyclQueueRef"));
    type Stream = OneApiQueue;

    fn current_stream(device: Device) -> Result<WorkStream<Self>, Error> {
        match stream_guard::innermost(device) {
            Some(stream) => Ok(stream),
            None => runtime()?.queue(device).map(work_stream),
        }
    }

    unsafe fn borrow_stream(device: Device, handle: StreamHandle) -> Result<OneApiQueue, Error> {
        // SAFETY: 1. By our caller's 1.
        unsafe { runtime()?.borrow_queue(device, handle) }
    }

    unsafe fn keep_stream(device: Device, handle: StreamHandle) -> Result<WorkStream<Self>, Error> {
        // SAFETY: 1. By our caller's 1.
        unsafe { Self::work_stream(device, handle) }
    }

    fn allocate(stream: &WorkStream<Self>, byte_len: usize) -> Result<MemoryRange, Error> {
        let data = zeroed(stream.stream(), UsmKind::Device, byte_len)?;
        Ok(MemoryRange::new(data, byte_len))
    }

    unsafe fn deallocate(stream: &WorkStream<Self>, memory: MemoryRange) -> Result<(), Error> {
        run_blocking(|| stream.synchronize())?;
        // SAFETY: 1. By our caller's 1. 2. By our caller's 2, after the wait.
        unsafe { free(stream.stream(), memory.data) };
        Ok(())
    }

    unsafe fn copy(
        stream: &WorkStream<Self>,
        from: MemoryRef,
        to: MemoryRef,
        byte_len: usize,
    ) -> Result<(), Error> {
        for device in [from.device, to.device] {
            // Another device may be of another context.
            if device != stream.device() && device != Device::CPU {
                return Err(Error::Unsupported { device, what: "copy by a queue of SYCL" });
            }
        }
        let queue = stream.stream();
        let (calls, device) = (queue.calls, stream.device());
        let (source, target) = (from.address().cast(), to.address().cast());
        queue.enqueue(|raw| {
            // SAFETY: 1. A queue; memory by our caller's 1.
            unsafe { calls.queue_memcpy(device, raw, target, source, byte_len) }
        })
    }

    fn attributes(data: *const c_void, hint: Device) -> Result<Attributes, Error> {
        let found = match Self::recognize(data, hint) {
            Ok(found) => found,
            // Another device than `hint` is a valid result here.
            Err(Error::DeviceMismatch { storage, .. }) => Self::recognize(data, storage)?,
            Err(error) => return Err(error),
        };
        let host_accessible = found.kind.host_accessible();
        Ok(Attributes { device: found.device, host_accessible })
    }
}
