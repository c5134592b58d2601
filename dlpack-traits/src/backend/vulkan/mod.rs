//! Vulkan: [`Vulkan`].
//!
//! The standard defines neither the meaning of `data` on `kDLVulkan`, nor the numbering of
//! devices. In this crate `data` is a `VkBuffer`, and a device is a `VkDevice` that was
//! registered with this process (`devices`), because a buffer cannot be queried for its
//! device.
//!
//! `ash` provides the types and function tables: it depends only on a loader of libraries,
//! and the structs of Vulkan are too many to declare here.

mod convert;
mod deferred_destroy;
mod devices;
mod memory;
mod open;
mod queue;

use core::ffi::c_void;
use core::ptr::{self, NonNull};
use std::vec::Vec;

use ash::vk;

use self::convert::number;
use self::deferred_destroy::{BoundBuffer, Garbage};
pub use self::devices::{VulkanEvent, VulkanStream};
use self::memory::{BufferPlace, Command, enqueue};
use self::memory::{block, retire, staging};
use crate::backend::memory::Direction;
use crate::backend::{
    Attributes, Backend, MemoryRange, MemoryRef, MemoryType, Stream, StreamHandle, WorkStream,
};
use crate::device::Device;
use crate::error::Error;
use crate::ffi;

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
        Ok(&devices::known(device)?.functions)
    }

    /// The adopted queues, in the order in which they were passed.
    ///
    /// # Errors
    ///
    /// [`Error::NoBackend`] for a device that was not adopted.
    pub fn queues(device: Device) -> Result<impl Iterator<Item = WorkStream<Self>>, Error> {
        Ok(devices::known(device)?.streams(device).map(work_stream))
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
fn work_stream(stream: VulkanStream) -> WorkStream<Vulkan> {
    // SAFETY: 1. A queue exists, under its handle, as long as its device, which lives as
    // long as the process (1 of `adopt`). 2. It is a queue of the device.
    unsafe { WorkStream::new(stream.device, stream.handle(), stream) }
}

// SAFETY: 1. Both look up the queue among those of the given device. 2. The rules only turn
// handles of queues into streams, and these live as long as the process. 3. So do the
// streams. 4. The streams of a device are the queues that were adopted, and the function
// waits for all of them. 7. They live as long as the process. 8. By the Vulkan specification:
// `allocate`: 1. The buffer is new, and of at least that size. 2. Zeros are written on the
// stream, between barriers.
// `deallocate`, `deallocate_after_all`: 1. to 3. The buffer is destroyed, under a lock, when its
// stream, or all streams, have finished the work that was enqueued before.
// `copy`: 1. Exactly the region is copied, and the commands are between barriers. Host memory is
// read, and written, before the call returns. 2. The submission is the last call that can fail;
// if the wait after it fails, the device is lost and does no more work.
// `attributes`: 1. Handles of memory that was allocated here, and was not freed, are recorded;
// for any other handle the result is an error.
// 9. A `VkBuffer` is a handle.
unsafe impl Backend for Vulkan {
    const MEMORY_TYPES: &'static [MemoryType] = &[MemoryType::with_handles(ffi::kDLVulkan)];
    const STREAMS_LAST: bool = true;
    const SYNCHRONIZE_DEVICE: Option<fn(Device) -> Result<(), Error>> = Some(synchronize_device);
    type Stream = VulkanStream;

    fn current_stream(device: Device) -> Result<WorkStream<Self>, Error> {
        Ok(work_stream(VulkanStream::new(device, devices::known(device)?, 0)))
    }

    unsafe fn borrow_stream(device: Device, handle: StreamHandle) -> Result<VulkanStream, Error> {
        let known = devices::known(device)?;
        Ok(VulkanStream::new(device, known, known.find(device, handle)?))
    }

    fn allocate(stream: &WorkStream<Self>, byte_len: usize) -> Result<MemoryRange, Error> {
        let (stream, device) = (stream.stream(), stream.device());
        let known = stream.known;
        known.retired.clear(&known.functions);
        let (wanted, any) =
            (vk::MemoryPropertyFlags::DEVICE_LOCAL, vk::MemoryPropertyFlags::empty());
        let block = block(known, device, byte_len, wanted, any)?;
        let address = number(device, block.buffer).map(ptr::without_provenance_mut);
        let data = address.and_then(|data| {
            NonNull::new(data).ok_or(Error::Unsupported { device, what: "handle that is not 0" })
        });
        let filled = data.and_then(|data| {
            // SAFETY: 1. The buffer is new, and `deallocate` retires it in the
            // order of the stream.
            unsafe { enqueue(stream, Command::Zeros { of: block.buffer }, None) }?;
            Ok(data)
        });
        match filled {
            Ok(data) => known.retired.insert(data.addr().get(), block),
            // SAFETY: 1. No work was enqueued, and no other code has its
            // handles.
            Err(_) => unsafe { Garbage::Buffer(block).destroy(&known.functions) },
        }
        filled.map(|data| MemoryRange::new(data, byte_len))
    }

    unsafe fn deallocate(stream: &WorkStream<Self>, memory: MemoryRange) -> Result<(), Error> {
        let point = stream.stream().mark(None)?;
        retire(stream.stream(), memory.data, Vec::from([point]));
        Ok(())
    }

    unsafe fn deallocate_after_all(
        stream: &WorkStream<Self>,
        memory: MemoryRange,
    ) -> Result<(), Error> {
        let all = stream.stream().known.streams(stream.device());
        let points: Result<Vec<_>, Error> = all.map(|stream| stream.mark(None)).collect();
        retire(stream.stream(), memory.data, points?);
        Ok(())
    }

    unsafe fn copy(
        stream: &WorkStream<Self>,
        from: MemoryRef,
        to: MemoryRef,
        byte_len: usize,
    ) -> Result<(), Error> {
        let (stream, device) = (stream.stream(), stream.device());
        let known = stream.known;
        let functions = &known.functions;
        let host = |block: BoundBuffer| BufferPlace { buffer: block.buffer, byte_offset: 0 };
        let copy = |from, to| Command::Copy { from, to, byte_len };
        match Direction::of(&from, &to, |other| other == device, "copy by this VkDevice")? {
            Direction::OnDevice => {
                let work = copy(BufferPlace::of(&from), BufferPlace::of(&to));
                // SAFETY: 1. By our caller's 1, both have the bytes until the work is done.
                unsafe { enqueue(stream, work, None) }.map(drop)
            }
            Direction::FromHost => {
                let (block, mapped) = staging(known, device, byte_len)?;
                // SAFETY: by our caller's 1 the host has the bytes, and the mapping as many.
                unsafe { mapped.as_ptr().copy_from_nonoverlapping(from.address(), byte_len) };
                let work = copy(host(block), BufferPlace::of(&to));
                // SAFETY: 1. By our caller's 1; the block is retired with the commands.
                unsafe { enqueue(stream, work, Some(block)) }.map(drop)
            }
            Direction::ToHost => {
                let (block, mapped) = staging(known, device, byte_len)?;
                let work = copy(BufferPlace::of(&from), host(block));
                // SAFETY: 1. By our caller's 1; the block is destroyed below.
                let enqueued = unsafe { enqueue(stream, work, None) };
                let copied = enqueued.and_then(|point| {
                    // SAFETY: 1. It is a point of the device's queue.
                    unsafe { point.wait(functions, device) }?;
                    // SAFETY: by our caller's 1 the host has space for the bytes, and the mapping
                    // contains them: the barrier at the end made them visible to the host.
                    unsafe { mapped.as_ptr().copy_to_nonoverlapping(to.address(), byte_len) };
                    Ok(())
                });
                // SAFETY: 1. The enqueued work is done, or will never run.
                unsafe { Garbage::Buffer(block).destroy(functions) };
                copied
            }
        }
    }

    fn attributes(data: *const c_void, hint: Device) -> Result<Attributes, Error> {
        let known = devices::known(hint)?;
        if known.retired.contains(data.addr()) {
            return Ok(Attributes { device: hint, host_accessible: false });
        }
        Err(Error::NoBackend { device: hint })
    }
}

fn synchronize_device(device: Device) -> Result<(), Error> {
    let done = devices::known(device)?.streams(device).map(|stream| stream.synchronize());
    // The fold waits for every queue, also after an error.
    done.fold(Ok(()), Result::and)
}
