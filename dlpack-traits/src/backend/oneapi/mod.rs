//! oneAPI: unified shared memory (USM) of SYCL, [`OneApi`].
//!
//! DPCTL, the C interface of Python's package `dpctl`, is lazily loaded. SYCL itself has a
//! C++ interface, whose symbols change with every release.

mod devices;
mod memory;
mod queue;
mod sys;
mod usm;

use std::path::Path;

use devices::runtime;
pub use queue::{OneApiEvent, OneApiQueue};
pub use usm::{Usm, UsmKind};

use crate::backend::backend_trait::{AllocatorOf, AttributesOf, MemcpyOf};
use crate::backend::stream_guard::{self, StreamGuard};
use crate::backend::{Backend, StreamHandle, WorkStream};
use crate::device::Device;
use crate::error::Error;
use crate::ffi::{self, DLDeviceType};

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
        unsafe { devices::load(file) }.map(drop)
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
// is the address of that copy.
unsafe impl Backend for OneApi {
    const DEVICE_TYPES: &'static [DLDeviceType] = &[ffi::kDLOneAPI];
    const STREAMS_LAST: bool = true;
    const ALLOCATOR: Option<AllocatorOf<Self>> = Some(AllocatorOf::THIS);
    const MEMCPY: Option<MemcpyOf<Self>> = Some(MemcpyOf::THIS);
    const ATTRIBUTES: Option<AttributesOf<Self>> = Some(AttributesOf::THIS);
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
}
