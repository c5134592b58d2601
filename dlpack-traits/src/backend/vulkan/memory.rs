//! Buffers of a Vulkan device with their memory, those of tensors and staging buffers, and the commands
//! that this backend enqueues to fill and to copy them: [`Command`].

use core::ffi::c_void;
use core::ptr::NonNull;
use std::vec::Vec;

use ash::vk::{self, Handle};

use super::convert::{named, sized};
use super::deferred_destroy::{BoundBuffer, Garbage};
use super::devices::{DeviceState, VulkanStream};
use super::queue::TimelinePoint;
use crate::backend::MemoryRef;
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
    let functions = &known.functions;
    let bytes = byte_len.checked_next_multiple_of(UNIT).ok_or(Error::SizeOverflow)?;
    let info = vk::BufferCreateInfo::default().size(bytes as u64).usage(OF_TENSORS);
    let info = match &known.families[..] {
        [_, _, ..] => {
            info.sharing_mode(vk::SharingMode::CONCURRENT).queue_family_indices(&known.families)
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
    let functions = &known.functions;
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
    let mapped = unsafe { known.functions.map_memory(block.memory, 0, vk::WHOLE_SIZE, all) };
    let mapped = named(device, "vkMapMemory", mapped);
    let unsupported = Error::Unsupported { device, what: "mapped memory" };
    let place = mapped.and_then(|place| NonNull::new(place.cast()).ok_or(unsupported));
    if place.is_err() {
        // SAFETY: 1. No other code has its handles.
        unsafe { Garbage::Buffer(block).destroy(&known.functions) };
    }
    Ok((block, place?))
}

/// Destroys memory of a tensor when those points are reached.
pub(super) fn retire(stream: &VulkanStream, data: NonNull<c_void>, after: Vec<TimelinePoint>) {
    let known = stream.known;
    if let Some(block) = known.retired.remove(data.addr().get()) {
        known.retired.retire(Garbage::Buffer(block), after);
    }
    known.retired.clear(&known.functions);
}

/// A buffer and an offset of bytes in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct BufferPlace {
    pub(super) buffer: vk::Buffer,
    pub(super) byte_offset: u64,
}

impl BufferPlace {
    /// Converts a place. `data` is the handle itself; no offset is added to it.
    pub(super) fn of(place: &MemoryRef) -> Self {
        let buffer = vk::Buffer::from_raw(place.data.addr() as u64);
        Self { buffer, byte_offset: place.byte_offset }
    }
}

/// A command.
#[derive(Clone, Copy, Debug)]
pub(super) enum Command {
    /// Fills a buffer with zeros.
    Zeros { of: vk::Buffer },
    /// Copies between buffers.
    Copy { from: BufferPlace, to: BufferPlace, byte_len: usize },
}

impl Command {
    /// Records the command between two barriers: everything before a barrier is ordered before
    /// everything after it, on this queue and for the host.
    ///
    /// # Safety
    ///
    /// 1. The commands are being recorded, outside of any render pass, and both are of that device.
    unsafe fn record(self, functions: &ash::Device, commands: vk::CommandBuffer) {
        let all = vk::AccessFlags::MEMORY_READ | vk::AccessFlags::MEMORY_WRITE;
        let memory = [vk::MemoryBarrier::default()
            .src_access_mask(vk::AccessFlags::MEMORY_WRITE)
            .dst_access_mask(all | vk::AccessFlags::HOST_READ)];
        let before = vk::PipelineStageFlags::ALL_COMMANDS;
        let (after, none) = (before | vk::PipelineStageFlags::HOST, vk::DependencyFlags::empty());
        // SAFETY: by our caller's 1.
        let barrier = || unsafe {
            functions.cmd_pipeline_barrier(commands, before, after, none, &memory, &[], &[]);
        };
        barrier();
        match self {
            // SAFETY: by our caller's 1; the whole buffer, whose size is a multiple of 4
            // bytes.
            Self::Zeros { of } => unsafe {
                functions.cmd_fill_buffer(commands, of, 0, vk::WHOLE_SIZE, 0);
            },
            Self::Copy { from, to, byte_len } => {
                let region = vk::BufferCopy::default()
                    .src_offset(from.byte_offset)
                    .dst_offset(to.byte_offset)
                    .size(byte_len as u64);
                // SAFETY: by our caller's 1.
                unsafe { functions.cmd_copy_buffer(commands, from.buffer, to.buffer, &[region]) };
            }
        }
        barrier();
    }
}

/// Enqueues work between barriers, and retires `with` after it. The result is reached when
/// the work is done.
///
/// # Safety
///
/// 1. The buffers are of the device of the stream, have the bytes, and stay until they are
///    retired in the order of the stream, or are `with`.
pub(super) unsafe fn enqueue(
    stream: &VulkanStream,
    work: Command,
    with: Option<BoundBuffer>,
) -> Result<TimelinePoint, Error> {
    let (known, device) = (stream.known, stream.device);
    let functions = &known.functions;
    // SAFETY: 1. By our caller's 1.
    let recorded = unsafe { commands(stream, work) };
    let submitted = recorded.and_then(|(pool, commands)| {
        // SAFETY: 1. The queue is of the device. 2. `commands` made the commands for its
        // family, and they are retired below; the rest by our caller's 1.
        let submitted = unsafe { stream.queue().submit(functions, device, None, &[commands]) };
        if submitted.is_err() {
            // SAFETY: 1. No work was enqueued.
            unsafe { Garbage::Commands(pool).destroy(functions) };
        }
        submitted.map(|point| (pool, point))
    });
    let with = with.map(Garbage::Buffer);
    match submitted {
        Ok((pool, point)) => {
            for garbage in [Some(Garbage::Commands(pool)), with].into_iter().flatten() {
                known.retired.retire(garbage, Vec::from([point]));
            }
            Ok(point)
        }
        Err(error) => {
            if let Some(garbage) = with {
                // SAFETY: 1. No work was enqueued.
                unsafe { garbage.destroy(functions) };
            }
            Err(error)
        }
    }
}

/// Records commands in a new pool, so that threads do not share one.
///
/// # Safety
///
/// 1. The buffers are of the device of the stream.
unsafe fn commands(
    stream: &VulkanStream,
    work: Command,
) -> Result<(vk::CommandPool, vk::CommandBuffer), Error> {
    let (functions, device) = (&stream.known.functions, stream.device);
    let info = vk::CommandPoolCreateInfo::default()
        .flags(vk::CommandPoolCreateFlags::TRANSIENT)
        .queue_family_index(stream.queue().family());
    // SAFETY: a family of the device.
    let made = unsafe { functions.create_command_pool(&info, None) };
    let pool = named(device, "vkCreateCommandPool", made)?;
    let recorded = (|| {
        let info = vk::CommandBufferAllocateInfo::default()
            .command_pool(pool)
            .level(vk::CommandBufferLevel::PRIMARY)
            .command_buffer_count(1);
        // SAFETY: a new pool, which no other thread uses.
        let made = unsafe { functions.allocate_command_buffers(&info) };
        let made = named(device, "vkAllocateCommandBuffers", made)?;
        let none = Error::Unsupported { device, what: "command buffers" };
        let commands = *made.first().ok_or(none)?;
        let once = vk::CommandBufferBeginInfo::default()
            .flags(vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT);
        // SAFETY: the commands are new.
        let begun = unsafe { functions.begin_command_buffer(commands, &once) };
        named(device, "vkBeginCommandBuffer", begun)?;
        // SAFETY: 1. The commands are being recorded; the buffers by our caller's 1.
        unsafe { work.record(functions, commands) };
        // SAFETY: the commands are being recorded.
        let ended = unsafe { functions.end_command_buffer(commands) };
        named(device, "vkEndCommandBuffer", ended)?;
        Ok((pool, commands))
    })();
    if recorded.is_err() {
        // SAFETY: 1. No work was enqueued.
        unsafe { Garbage::Commands(pool).destroy(functions) };
    }
    recorded
}

#[cfg(test)]
mod tests {
    use core::ptr;

    use super::*;

    #[test]
    fn offsets_stay_beside_the_handle() {
        let device = crate::device::Device::new(crate::ffi::kDLVulkan, 0);
        let place = MemoryRef { device, data: ptr::without_provenance_mut(64), byte_offset: 24 };
        let span = BufferPlace::of(&place);
        assert_eq!((span.buffer.as_raw(), span.byte_offset), (64, 24));
    }
}
