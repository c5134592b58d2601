//! Buffers of a Vulkan device with their memory: those of tensors, and staging buffers.

use core::ffi::c_void;
use core::ptr::NonNull;
use std::vec::Vec;

use ash::vk;

use super::convert::{named, sized};
use super::deferred_destroy::{BoundBuffer, Garbage};
use super::devices::DeviceState;
use super::queue::TimelinePoint;
use super::stream::VulkanStream;
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
pub(super) fn block(
    known: &DeviceState,
    device: Device,
    byte_len: usize,
    wanted: vk::MemoryPropertyFlags,
    needed: vk::MemoryPropertyFlags,
) -> Result<BoundBuffer, Error> {
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
    Ok(BoundBuffer { buffer, memory: bound? })
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
pub(super) fn staging(
    known: &DeviceState,
    device: Device,
    byte_len: usize,
) -> Result<(BoundBuffer, NonNull<u8>), Error> {
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
        unsafe { Garbage::Buffer(block).destroy(known.functions()) };
    }
    Ok((block, place?))
}

/// Destroys memory of a tensor when those points are reached.
pub(super) fn retire(stream: &VulkanStream, data: NonNull<c_void>, after: Vec<TimelinePoint>) {
    let known = stream.known();
    if let Some(block) = known.retired.remove(data.addr().get()) {
        known.retired.retire(Garbage::Buffer(block), after);
    }
    known.retired.clear(known.functions());
}
