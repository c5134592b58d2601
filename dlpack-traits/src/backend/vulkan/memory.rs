//! Memory of a Vulkan device, and copies.

use core::ffi::c_void;
use core::ptr::{self, NonNull};
use std::vec::Vec;

use ash::vk;

use super::Vulkan;
use super::deferred_destroy::{Block, Garbage};
use super::devices::{self, DeviceState};
use super::fault::{named, sized};
use super::handle::number;
use super::queue::TimelinePoint;
use super::stream::VulkanStream;
use super::work::{BufferPlace, Command, enqueue};
use crate::backend::{Allocator, Attributes, Memcpy, MemoryRef, PointerAttributes, WorkStream};
use crate::device::Device;
use crate::error::Error;

/// The usages of buffers of tensors: by kernels and by copies.
const OF_TENSORS: vk::BufferUsageFlags = vk::BufferUsageFlags::from_raw(
    vk::BufferUsageFlags::TRANSFER_SRC.as_raw()
        | vk::BufferUsageFlags::TRANSFER_DST.as_raw()
        | vk::BufferUsageFlags::STORAGE_BUFFER.as_raw(),
);
/// Memory that the host accesses without flushes.
const OF_HOST: vk::MemoryPropertyFlags = vk::MemoryPropertyFlags::from_raw(
    vk::MemoryPropertyFlags::HOST_VISIBLE.as_raw()
        | vk::MemoryPropertyFlags::HOST_COHERENT.as_raw(),
);
/// `vkCmdFillBuffer` requires a multiple of that many bytes.
const UNIT: usize = 4;

/// Creates a buffer with its own memory.
fn block(
    known: &DeviceState,
    device: Device,
    byte_len: usize,
    wanted: vk::MemoryPropertyFlags,
    needed: vk::MemoryPropertyFlags,
) -> Result<Block, Error> {
    let functions = known.functions();
    let bytes = byte_len.checked_next_multiple_of(UNIT).ok_or(Error::SizeOverflow)?;
    let info = vk::BufferCreateInfo::default().size(bytes as u64).usage(OF_TENSORS);
    let info = match known.families() {
        [_, _, ..] => {
            info.sharing_mode(vk::SharingMode::CONCURRENT).queue_family_indices(known.families())
        }
        _ => info,
    };
    // SAFETY: a size of at least one unit, and families that the device has.
    let made = unsafe { functions.create_buffer(&info, None) };
    let buffer = sized(device, "vkCreateBuffer", byte_len, made)?;
    let bound = memory_for(known, device, byte_len, buffer, wanted, needed);
    if bound.is_err() {
        // SAFETY: the buffer is new, and no other code has its handle.
        unsafe { functions.destroy_buffer(buffer, None) };
    }
    Ok(Block { buffer, memory: bound? })
}

fn memory_for(
    known: &DeviceState,
    device: Device,
    byte_len: usize,
    buffer: vk::Buffer,
    wanted: vk::MemoryPropertyFlags,
    needed: vk::MemoryPropertyFlags,
) -> Result<vk::DeviceMemory, Error> {
    let functions = known.functions();
    // SAFETY: a buffer of the device.
    let asks = unsafe { functions.get_buffer_memory_requirements(buffer) };
    let fitting = |properties| known.memory_type(asks.memory_type_bits, properties);
    let kind = fitting(wanted).or_else(|| fitting(needed));
    let kind = kind.ok_or(Error::Unsupported { device, what: "memory of that kind" })?;
    let info = vk::MemoryAllocateInfo::default().allocation_size(asks.size).memory_type_index(kind);
    // SAFETY: a memory type that the device has.
    let made = unsafe { functions.allocate_memory(&info, None) };
    let memory = sized(device, "vkAllocateMemory", byte_len, made)?;
    // SAFETY: both are new, and the memory satisfies the requirements of the
    // buffer.
    let bound = unsafe { functions.bind_buffer_memory(buffer, memory, 0) };
    if bound.is_err() {
        // SAFETY: the memory is new, and no other code has its handle.
        unsafe { functions.free_memory(memory, None) };
    }
    sized(device, "vkBindBufferMemory", byte_len, bound).map(|()| memory)
}

/// Creates a staging buffer, mapped into host memory.
fn staging(
    known: &DeviceState,
    device: Device,
    byte_len: usize,
) -> Result<(Block, NonNull<u8>), Error> {
    let cached = OF_HOST | vk::MemoryPropertyFlags::HOST_CACHED;
    let block = block(known, device, byte_len, cached, OF_HOST)?;
    let all = vk::MemoryMapFlags::empty();
    // SAFETY: the memory is visible to the host, and is mapped once.
    let mapped = unsafe { known.functions().map_memory(block.memory, 0, vk::WHOLE_SIZE, all) };
    let mapped = named(device, "vkMapMemory", mapped);
    let unsupported = Error::Unsupported { device, what: "mapped memory" };
    let place = mapped.and_then(|place| NonNull::new(place.cast()).ok_or(unsupported));
    if place.is_err() {
        // SAFETY: 1. No other code has its handles.
        unsafe { Garbage::Block(block).destroy(known.functions()) };
    }
    Ok((block, place?))
}

// SAFETY: 1. The buffer is new, and of at least that size. 2. Zeros are written
// on the stream, between barriers. 3. It is destroyed when its stream, or all
// streams, have finished the work that was enqueued before.
unsafe impl Allocator for Vulkan {
    fn allocate(stream: &WorkStream<Self>, byte_len: usize) -> Result<NonNull<c_void>, Error> {
        let (stream, device) = (stream.stream(), stream.device());
        let known = stream.known();
        known.retired.clear(known.functions());
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
            Err(_) => unsafe { Garbage::Block(block).destroy(known.functions()) },
        }
        filled
    }

    unsafe fn deallocate(
        stream: &WorkStream<Self>,
        data: NonNull<c_void>,
        _: usize,
    ) -> Result<(), Error> {
        let point = stream.stream().mark(None)?;
        retire(stream.stream(), data, Vec::from([point]));
        Ok(())
    }

    unsafe fn deallocate_after_all(
        stream: &WorkStream<Self>,
        data: NonNull<c_void>,
        _: usize,
    ) -> Result<(), Error> {
        let (known, device) = (stream.stream().known(), stream.device());
        let queues = 0..known.queues().len();
        let points: Result<Vec<_>, Error> =
            queues.map(|index| VulkanStream::new(device, known, index).mark(None)).collect();
        retire(stream.stream(), data, points?);
        Ok(())
    }
}

/// Destroys memory of a tensor when those points are reached.
fn retire(stream: &VulkanStream, data: NonNull<c_void>, after: Vec<TimelinePoint>) {
    let known = stream.known();
    if let Some(block) = known.retired.remove(data.addr().get()) {
        known.retired.retire(Garbage::Block(block), after);
    }
    known.retired.clear(known.functions());
}

// SAFETY: 1. Vulkan copies exactly the region, and the commands are between
// barriers. Host memory is read, and written, before the call returns. 2. The
// submission is the last call that can fail; if the wait after it fails, the
// device is lost and does no more work.
unsafe impl Memcpy for Vulkan {
    unsafe fn copy(
        stream: &WorkStream<Self>,
        from: MemoryRef,
        to: MemoryRef,
        byte_len: usize,
    ) -> Result<(), Error> {
        let (stream, device) = (stream.stream(), stream.device());
        let known = stream.known();
        let functions = known.functions();
        let host = |block: Block| BufferPlace { buffer: block.buffer, byte_offset: 0 };
        if from.device == device && to.device == device {
            let work =
                Command::Copy { from: BufferPlace::of(&from), to: BufferPlace::of(&to), byte_len };
            // SAFETY: 1. By our caller's 1, both have the bytes until the work
            // is done.
            return unsafe { enqueue(stream, work, None) }.map(drop);
        }
        if from.device == Device::CPU && to.device == device {
            let (block, mapped) = staging(known, device, byte_len)?;
            // SAFETY: by our caller's 1 the host has the bytes, and the mapping
            // as many.
            unsafe { mapped.as_ptr().copy_from_nonoverlapping(from.address(), byte_len) };
            let work = Command::Copy { from: host(block), to: BufferPlace::of(&to), byte_len };
            // SAFETY: 1. By our caller's 1; the block is retired with the
            // commands.
            return unsafe { enqueue(stream, work, Some(block)) }.map(drop);
        }
        if from.device == device && to.device == Device::CPU {
            let (block, mapped) = staging(known, device, byte_len)?;
            let work = Command::Copy { from: BufferPlace::of(&from), to: host(block), byte_len };
            // SAFETY: 1. By our caller's 1; the block is destroyed below.
            let enqueued = unsafe { enqueue(stream, work, None) };
            let copied = enqueued.and_then(|point| {
                // SAFETY: 1. It is a point of the device's queue.
                unsafe { point.wait(functions, device) }?;
                // SAFETY: by our caller's 1 the host has space for the bytes,
                // and the mapping contains them: the barrier at the end made
                // them visible to the host.
                unsafe { mapped.as_ptr().copy_to_nonoverlapping(to.address(), byte_len) };
                Ok(())
            });
            // SAFETY: 1. The enqueued work is done, or will never run.
            unsafe { Garbage::Block(block).destroy(functions) };
            return copied;
        }
        let device = if from.device == device { to.device } else { from.device };
        Err(Error::Unsupported { device, what: "copy by this VkDevice" })
    }
}

// SAFETY: 1. Handles of memory that was allocated here, and was not freed, are
// recorded; for any other handle the result is an error.
unsafe impl PointerAttributes for Vulkan {
    fn attributes(data: *const c_void, hint: Device) -> Result<Attributes, Error> {
        let known = devices::known(hint)?;
        if known.retired.contains(data.addr()) {
            return Ok(Attributes { device: hint, host_accessible: false });
        }
        Err(Error::NoBackend { device: hint })
    }
}
