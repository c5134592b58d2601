//! OpenCL: buffers, queues and events, [`OpenCl`].
//!
//! The standard says of `data` that it is the `cl_mem`. It leaves open who keeps
//! the object, how devices are numbered, and what a stream is; see [`OpenCl`].

mod calls;
mod memory;
mod queue;
mod runtime;

use std::path::Path;

pub use memory::OpenClMemory;
pub use queue::{OpenClEvent, OpenClQueue};
use runtime::runtime;

use crate::backend::entered::{self, Entered};
use crate::backend::memory::{AllocatorOf, MemcpyOf};
use crate::backend::{Backend, StreamHandle, WorkStream};
use crate::device::Device;
use crate::error::Error;
use crate::ffi::{self, DLDeviceType};

/// OpenCL 1.2 and later: buffers of any vendor.
///
/// - `data` of a tensor is a `cl_mem`, of which an export has a reference until its
///   deleter is called. It is no address: where the elements begin in it is said
///   by `byte_offset` alone.
/// - A device is known by its index when all platforms, and of each all devices,
///   are listed one after the other. From a `cl_mem` its context and devices can
///   be found out, so the number is a hint.
/// - A stream is a `cl_command_queue`, which is retained as long as it is kept.
///   Whoever names none gets finished work.
/// - A hand-off is a marker and a barrier, and both queues must be of one context,
///   as must the queue on which a buffer is copied. By default a device has a
///   context of this crate's; with other people's buffers
///   [`enter`](Self::enter) one of their queues.
/// - Nothing waits when memory is freed: OpenCL keeps a buffer until the commands
///   that use it are done.
///
/// The system's loader is found by its name, or is the file that
/// [`load`](Self::load) is given.
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
    /// Loads OpenCL from a file, unless it is loaded.
    ///
    /// # Errors
    ///
    /// [`Error::NoLibrary`], and [`Error::Unsupported`] where a function is missing.
    ///
    /// # Safety
    ///
    /// 1. The file, if there is one, is OpenCL's loader, or a vendor's library.
    pub unsafe fn load(file: &Path) -> Result<(), Error> {
        // SAFETY: 1. By 1.
        unsafe { runtime::load(file) }.map(drop)
    }

    /// The number of devices, those of all platforms.
    ///
    /// # Errors
    ///
    /// [`Error::NoLibrary`], and those of the runtime.
    pub fn device_count() -> Result<usize, Error> {
        Ok(runtime()?.devices.len())
    }

    /// Somebody else's queue, which is retained.
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
        // SAFETY: 1. By 1.
        Ok(unsafe { queue::borrow(device, handle) }?.into_work_stream())
    }

    /// From now on, until the guard is dropped, this thread works on that queue:
    /// new memory is for it, and of its context, and consumers are told to work
    /// on it too (`current_work_stream`).
    pub fn enter(stream: WorkStream<Self>) -> Entered {
        entered::enter(stream)
    }
}

// SAFETY: 1. Both check the device. 2. The rules make no stream of a number. 3. A
// queue is retained. 4. It is not defined.
unsafe impl Backend for OpenCl {
    const DEVICE_TYPES: &'static [DLDeviceType] = &[ffi::kDLOpenCL];
    const STREAMS_LAST: bool = true;
    const ALLOCATOR: Option<AllocatorOf<Self>> = Some(AllocatorOf::THIS);
    const MEMCPY: Option<MemcpyOf<Self>> = Some(MemcpyOf::THIS);
    type Stream = OpenClQueue;

    fn current_stream(device: Device) -> Result<WorkStream<Self>, Error> {
        match entered::innermost(device) {
            Some(stream) => Ok(stream),
            None => Ok(runtime()?.queue(device)?.into_work_stream()),
        }
    }

    unsafe fn borrow_stream(device: Device, handle: StreamHandle) -> Result<OpenClQueue, Error> {
        // SAFETY: 1. By 1.
        unsafe { queue::borrow(device, handle) }
    }
}
