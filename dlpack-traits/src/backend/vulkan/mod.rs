//! Vulkan as a device: [`Vulkan`].
//!
//! The standard does not say what `data` is on `kDLVulkan`, nor which device is
//! meant by an index. Here `data` is a `VkBuffer`, and a device is a `VkDevice`
//! that the process knows (`devices`), because a buffer cannot be asked for its own.

mod devices;
mod fault;
mod memory;
mod open;
mod queue;
mod retired;
mod work;

use ash::vk::{self, Handle};

use self::devices::Known;
pub use self::queue::{VulkanEvent, VulkanStream};
use crate::backend::memory::{AllocatorOf, AttributesOf, MemcpyOf};
use crate::backend::{Backend, Stream, StreamHandle, WorkStream};
use crate::device::Device;
use crate::error::Error;
use crate::ffi::{self, DLDeviceType};

/// Vulkan: buffers of a `VkDevice`, and its queues as streams.
///
/// - `data` is a `VkBuffer`, never an address: nothing is added to it, and
///   offsets are in `byte_offset`. It covers all of its memory, and was created
///   for `TRANSFER_SRC` and `TRANSFER_DST`; where queues of several families
///   were adopted, for concurrent use by all of them.
/// - The index of a device counts the `VkDevice`s that this process adopted
///   ([`adopt`](Self::adopt)) or opened ([`open`](Self::open)). None is ever
///   taken out.
/// - A stream is a `VkQueue`, and so is the number that a consumer sends. The
///   current stream is the first queue that was adopted.
/// - A hand-off is two submissions: the producer's queue signals a value of its
///   timeline semaphore, the consumer's waits for it. The host does not wait.
/// - Each buffer that is allocated here is one `vkAllocateMemory`, of which a device may allow
///   no more than 4,096 at a time (`maxMemoryAllocationCount`). Many small tensors are parts of
///   one buffer, at their `byte_offset`.
/// - What was released is destroyed when the queues have passed it, by whoever
///   allocates, releases or waits next. No deleter waits.
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
    /// The functions of a device, for whoever works on its tensors.
    ///
    /// # Errors
    ///
    /// [`Error::NoBackend`] for a device that was not adopted.
    pub fn functions(device: Device) -> Result<&'static ash::Device, Error> {
        Ok(devices::known(device)?.functions())
    }

    /// The queues that were adopted, in that order.
    ///
    /// # Errors
    ///
    /// [`Error::NoBackend`] for a device that was not adopted.
    pub fn queues(device: Device) -> Result<impl Iterator<Item = WorkStream<Self>>, Error> {
        let known = devices::known(device)?;
        Ok((0..known.queues().len()).map(move |index| work_stream(device, known, index)))
    }

    /// Calls `submit` with a queue that no other thread uses meanwhile, as
    /// `vkQueueSubmit` demands. In it, whatever is asked of this backend, and of the
    /// same queue, is done; but who waits there for another thread that needs the
    /// queue waits for ever.
    ///
    /// # Errors
    ///
    /// [`Error::NoBackend`] for a device, [`Error::Unsupported`] for a queue that
    /// was not adopted.
    pub fn with_queue<R>(
        device: Device,
        handle: StreamHandle,
        submit: impl FnOnce(vk::Queue) -> R,
    ) -> Result<R, Error> {
        let known = devices::known(device)?;
        Ok(known.queue(known.find(device, handle)?).alone(submit))
    }
}

/// A queue of a device as a stream with its name.
fn work_stream(device: Device, known: &'static Known, index: usize) -> WorkStream<Vulkan> {
    let stream = VulkanStream::new(device, known, index);
    // SAFETY: 1. A queue is there, under its handle, as long as its device,
    // which is as long as the process (1 of `adopt`). 2. It is the device's.
    unsafe { WorkStream::new(device, stream.handle(), stream) }
}

/// The number by which a handle of Vulkan's is known, where it fits.
fn number(device: Device, handle: impl Handle) -> Result<usize, Error> {
    let what = "handle of 64 bits on a machine with shorter pointers";
    usize::try_from(handle.as_raw()).map_err(|_| Error::Unsupported { device, what })
}

// SAFETY: 1. Both look queues up among those of the device that they were asked
// for. 2. The rules make no number a stream but handles of queues, which live as
// long as the process. 3. As do these. 4. The streams of a device are the queues
// that were adopted, and all of them are waited for.
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
    // Each is waited for, also where one of them fails.
    done.fold(Ok(()), Result::and)
}
