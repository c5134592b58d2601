//! Vulkan: [`Vulkan`].
//!
//! The standard defines neither the meaning of `data` on `kDLVulkan`, nor the numbering of
//! devices. In this crate `data` is a `VkBuffer`, and a device is a `VkDevice` that was
//! registered with this process (`devices`), because a buffer cannot be queried for its
//! device.
//!
//! `ash` provides the types and function tables: it depends only on a loader of libraries,
//! and the structs of Vulkan are too many to declare here.

mod adopt;
mod deferred_destroy;
mod devices;
mod fault;
mod handle;
mod memory;
mod open;
mod queue;
mod stream;
mod work;

use ash::vk;

use self::devices::DeviceState;
pub use self::stream::{VulkanEvent, VulkanStream};
use crate::backend::backend_trait::{AllocatorOf, AttributesOf, MemcpyOf};
use crate::backend::{Backend, Stream, StreamHandle, WorkStream};
use crate::device::Device;
use crate::error::Error;
use crate::ffi::{self, DLDeviceType};

/// Vulkan: buffers of a `VkDevice`, and its queues as streams.
///
/// - `data` is a `VkBuffer`, never an address: pointer arithmetic is not allowed, and
///   offsets are in `byte_offset`. The buffer covers all of its memory, and was created
///   with the usages `TRANSFER_SRC` and `TRANSFER_DST`; if queues of several families were
///   adopted, for concurrent use by all of them.
/// - The id of a device is its index among the `VkDevice`s that this process adopted
///   ([`adopt`](Self::adopt)) or opened ([`open`](Self::open)). A device is never removed.
/// - A stream is a `VkQueue`, and the consumer passes its handle as a number. The current
///   stream is the first queue that was adopted.
/// - Queues are synchronized by two submissions: the producer's queue signals a value of
///   its timeline semaphore, the consumer's waits for it. The host does not wait.
/// - Each buffer that is allocated here is one `vkAllocateMemory`, of which a device may
///   allow no more than 4,096 at a time (`maxMemoryAllocationCount`). Allocate many small
///   tensors as parts of one buffer, at their `byte_offset`.
/// - A released buffer is destroyed once the queues have finished the work before its
///   release, by the next call that allocates, releases or waits. No deleter waits.
///
/// ```no_run
/// use dlpack_traits::backend::{DeviceBuffer, Vulkan};
///
/// let device = Vulkan::open(0)?;
/// let numbers = DeviceBuffer::<Vulkan>::from_slice(device, &[1.5_f32, 2.5])?;
/// assert_eq!(numbers.to_vec::<f32>()?, [1.5, 2.5]);
/// # Ok::<(), dlpack_traits::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Vulkan;

impl Vulkan {
    /// The functions of a device, for code that works on its tensors.
    ///
    /// # Errors
    ///
    /// [`Error::NoBackend`] for a device that was not adopted.
    pub fn functions(device: Device) -> Result<&'static ash::Device, Error> {
        Ok(devices::known(device)?.functions())
    }

    /// The adopted queues, in the order in which they were passed.
    ///
    /// # Errors
    ///
    /// [`Error::NoBackend`] for a device that was not adopted.
    pub fn queues(device: Device) -> Result<impl Iterator<Item = WorkStream<Self>>, Error> {
        let known = devices::known(device)?;
        Ok((0..known.queues().len()).map(move |index| work_stream(device, known, index)))
    }

    /// Calls `submit` with a queue that no other thread uses meanwhile, as `vkQueueSubmit`
    /// requires. `submit` may call this backend, also for the same queue. It must not wait
    /// for another thread that needs the queue: that would deadlock.
    ///
    /// # Errors
    ///
    /// [`Error::NoBackend`] for a device that was not adopted, [`Error::Unsupported`] for a
    /// queue that was not adopted.
    pub fn with_queue<R>(
        device: Device,
        handle: StreamHandle,
        submit: impl FnOnce(vk::Queue) -> R,
    ) -> Result<R, Error> {
        let known = devices::known(device)?;
        Ok(known.queue(known.find(device, handle)?).alone(submit))
    }
}

/// Combines a queue of a device with its handle.
fn work_stream(device: Device, known: &'static DeviceState, index: usize) -> WorkStream<Vulkan> {
    let stream = VulkanStream::new(device, known, index);
    // SAFETY: 1. A queue exists, under its handle, as long as its device, which lives as
    // long as the process (1 of `adopt`). 2. It is a queue of the device.
    unsafe { WorkStream::new(device, stream.handle(), stream) }
}

// SAFETY: 1. Both look up the queue among those of the given device. 2. The rules only turn
// handles of queues into streams, and these live as long as the process. 3. So do the
// streams. 4. The streams of a device are the queues that were adopted, and the function
// waits for all of them. 7. They live as long as the process.
unsafe impl Backend for Vulkan {
    const DEVICE_TYPES: &'static [DLDeviceType] = &[ffi::kDLVulkan];
    const STREAMS_LAST: bool = true;
    const SYNCHRONIZE_DEVICE: Option<fn(Device) -> Result<(), Error>> = Some(synchronize_device);
    const ALLOCATOR: Option<AllocatorOf<Self>> = Some(AllocatorOf::THIS);
    const MEMCPY: Option<MemcpyOf<Self>> = Some(MemcpyOf::THIS);
    const ATTRIBUTES: Option<AttributesOf<Self>> = Some(AttributesOf::THIS);
    type Stream = VulkanStream;

    fn current_stream(device: Device) -> Result<WorkStream<Self>, Error> {
        Ok(work_stream(device, devices::known(device)?, 0))
    }

    unsafe fn borrow_stream(device: Device, handle: StreamHandle) -> Result<VulkanStream, Error> {
        let known = devices::known(device)?;
        Ok(VulkanStream::new(device, known, known.find(device, handle)?))
    }
}

fn synchronize_device(device: Device) -> Result<(), Error> {
    let known = devices::known(device)?;
    let done = (0..known.queues().len())
        .map(|index| VulkanStream::new(device, known, index).synchronize());
    // The fold waits for every queue, also after an error.
    done.fold(Ok(()), Result::and)
}
