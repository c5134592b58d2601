//! The commands that this backend enqueues: [`Command`].

use std::vec::Vec;

use ash::vk::{self, Handle};

use super::convert::named;
use super::deferred_destroy::{BoundBuffer, Garbage};
use super::queue::TimelinePoint;
use super::stream::VulkanStream;
use crate::backend::MemoryRef;
use crate::error::Error;

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
    let (known, device) = (stream.known(), stream.device());
    let functions = known.functions();
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
    let (functions, device) = (stream.known().functions(), stream.device());
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
