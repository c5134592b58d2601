//! OpenCL: buffers, queues and events, [`OpenCl`].
//!
//! By the standard, `data` is the `cl_mem`. The standard leaves open which reference keeps
//! the object alive, how devices are numbered, and what a stream is; [`OpenCl`] documents
//! the choices of this crate.

mod devices;
mod memory;
mod queue;
mod sys;

use core::ptr;
use std::path::Path;

use devices::{LOADED, runtime};
pub use memory::OpenClMemory;
pub use queue::{OpenClEvent, OpenClQueue};

use crate::backend::library::checked;
use crate::backend::memory::Direction;
use crate::backend::stream_guard::{self, StreamGuard};
use crate::backend::{Backend, MemoryRange, MemoryRef, MemoryType, StreamHandle, WorkStream};
use crate::device::Device;
use crate::error::Error;
use crate::ffi;

/// OpenCL 1.2 and later: buffers of any vendor.
///
/// - `data` of a tensor is a `cl_mem`. An export holds a reference to it until its deleter
///   is called. It is not an address: `byte_offset` alone says where the elements begin.
/// - The id of a device is its index in the list of all devices of all platforms, in the
///   order in which the loader reports them. The context and devices of a `cl_mem` can be
///   queried, so the id is only a hint.
/// - A stream is a `cl_command_queue`, which is retained as long as it is kept. If the
///   consumer passes no stream, the host waits for pending work.
/// - Queues are synchronized by a marker and a barrier. Both must belong to one context,
///   and so must the queue on which a buffer is copied. By default this crate makes a
///   context per device; to use buffers of another library, [`enter`](Self::enter) one of
///   its queues.
/// - A free never waits: OpenCL keeps a buffer until the commands that use it are done.
///
/// The system's loader is found by its name; [`load`](Self::load) takes its path.
///
/// ```no_run
/// use dlpack_traits::backend::{DeviceBuffer, OpenCl};
/// use dlpack_traits::{DataType, Device, ffi};
///
/// let device = Device::new(ffi::kDLOpenCL, 0);
/// let zeros = DeviceBuffer::<OpenCl>::zeroed(device, DataType::F32, 1024)?;
/// assert_eq!(zeros.to_vec::<f32>()?, [0.0; 1024]);
/// # Ok::<(), dlpack_traits::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct OpenCl;

impl OpenCl {
    /// Loads OpenCL from a file, unless it is already loaded.
    ///
    /// # Errors
    ///
    /// [`Error::NoLibrary`], and [`Error::Unsupported`] if a function is missing.
    ///
    /// # Safety
    ///
    /// 1. The file, if there is one, is OpenCL's loader, or a vendor's library.
    pub unsafe fn load(file: &Path) -> Result<(), Error> {
        // Not a library that only the process has loaded: another loader may number the devices
        // differently.
        // SAFETY: 1. By our caller's 1.
        unsafe { LOADED.load(file, false) }.map(drop)
    }

    /// The number of devices of all platforms.
    ///
    /// # Errors
    ///
    /// [`Error::NoLibrary`], and those of the runtime.
    pub fn device_count() -> Result<usize, Error> {
        Ok(runtime()?.devices.len())
    }

    /// A queue of another library, which is retained.
    ///
    /// # Errors
    ///
    /// [`Error::StreamRefused`] for NULL, [`Error::Unsupported`] for a queue of
    /// another device, and those of the runtime.
    ///
    /// # Safety
    ///
    /// 1. `handle` is NULL or a `cl_command_queue` that is alive during the call.
    pub unsafe fn work_stream(
        device: Device,
        handle: StreamHandle,
    ) -> Result<WorkStream<Self>, Error> {
        // SAFETY: 1. By our caller's 1.
        unsafe { runtime()?.borrow_queue(device, handle) }.map(work_stream)
    }

    /// Makes the queue the current one of this thread, until the guard is dropped: new
    /// memory is allocated for it, in its context, and consumers work on it too
    /// (`current_work_stream`).
    pub fn enter(stream: WorkStream<Self>) -> StreamGuard {
        stream_guard::enter(stream)
    }
}

/// Converts a queue into a work stream of its device.
fn work_stream(queue: OpenClQueue) -> WorkStream<OpenCl> {
    let (device, handle) = (queue.device(), StreamHandle::from_ptr(queue.raw()));
    // SAFETY: 1. The stream keeps a reference to the queue. 2. `OpenClRuntime::queue` and
    // `OpenClRuntime::borrow_queue` only make queues of their device.
    unsafe { WorkStream::new(device, handle, queue) }
}

// SAFETY: 1. Both check the device. 2. The rules have no default streams. 3. A queue is
// retained. 4. It is not defined. 7. The handle is the queue, which is retained. 8. By the OpenCL
// specification:
// `allocate`: 1. It is the handle of a new buffer. 2. Zeros are written in the order of the queue.
// `deallocate`: 1. to 3. OpenCL keeps a buffer until the commands that use it, on any queue, are
// done; any thread may release it.
// `copy`: 1. Exactly `byte_len` bytes are copied; `enqueue` guarantees the order. 2. The calls
// that return those errors enqueue nothing.
// 9. A `cl_mem` is a handle.
unsafe impl Backend for OpenCl {
    const MEMORY_TYPES: &'static [MemoryType] = &[MemoryType::with_handles(ffi::kDLOpenCL)];
    const STREAMS_LAST: bool = true;
    type Stream = OpenClQueue;

    fn current_stream(device: Device) -> Result<WorkStream<Self>, Error> {
        match stream_guard::innermost(device) {
            Some(stream) => Ok(stream),
            None => runtime()?.queue(device).map(work_stream),
        }
    }

    unsafe fn borrow_stream(device: Device, handle: StreamHandle) -> Result<OpenClQueue, Error> {
        // SAFETY: 1. By our caller's 1.
        unsafe { runtime()?.borrow_queue(device, handle) }
    }

    fn allocate(stream: &WorkStream<Self>, byte_len: usize) -> Result<MemoryRange, Error> {
        Ok(MemoryRange::new(stream.stream().allocate(byte_len)?.into_raw(), byte_len))
    }

    unsafe fn deallocate(stream: &WorkStream<Self>, memory: MemoryRange) -> Result<(), Error> {
        let call = "clReleaseMemObject";
        // SAFETY: 1. By our caller's 1, the reference is that of `allocate`.
        let code = unsafe { stream.stream().calls.release_memory(memory.data.as_ptr()) };
        checked(stream.device(), call, code)
    }

    unsafe fn copy(
        stream: &WorkStream<Self>,
        from: MemoryRef,
        to: MemoryRef,
        byte_len: usize,
    ) -> Result<(), Error> {
        let (queue, device) = (stream.stream(), stream.device());
        let calls = queue.calls;
        // Buffers of another device may be of another context.
        let is_ours = |other| other == device;
        let (none, what) = (ptr::null(), "copy by a queue of OpenCL");
        match Direction::of(&from, &to, is_ours, what)? {
            Direction::OnDevice => {
                let ((from, start), (to, end)) = (from.in_object()?, to.in_object()?);
                queue.enqueue(|raw, event| {
                    // SAFETY: 1. A queue; buffers by our caller's 1, of its context or
                    // rejected by OpenCL.
                    unsafe {
                        calls.copy(device, raw, from, to, start, end, byte_len, 0, none, event)
                    }
                })
            }
            Direction::ToHost => {
                let ((from, start), target) = (from.in_object()?, to.address().cast());
                queue.enqueue(|raw, event| {
                    // SAFETY: 1. A queue; a buffer and host memory by our caller's 1.
                    unsafe {
                        calls.read(device, raw, from, 0, start, byte_len, target, 0, none, event)
                    }
                })
            }
            Direction::FromHost => {
                let ((to, start), source) = (to.in_object()?, from.address().cast_const().cast());
                queue.enqueue(|raw, event| {
                    // SAFETY: 1. A queue; a buffer and host memory by our caller's 1.
                    unsafe {
                        calls.write(device, raw, to, 0, start, byte_len, source, 0, none, event)
                    }
                })
            }
        }
    }
}
