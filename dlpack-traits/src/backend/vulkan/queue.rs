//! Queues, and the values of their timelines: [`Queue`], [`TimelinePoint`].
//!
//! Recording an event is a submission that increments a timeline semaphore, so an event is
//! two words and is never freed. Only one thread may submit to a queue at a time; that lock
//! is the only one that is held around a driver call, and users who submit take it too
//! (`Vulkan::with_queue`).

use core::sync::atomic::{AtomicU64, Ordering};

use ash::vk;

use super::convert::named;
use crate::backend::reentrant_lock::ReentrantLock;
use crate::device::Device;
use crate::error::Error;

/// A queue, and the timeline semaphore that counts its submissions.
pub(super) struct Queue {
    raw: vk::Queue,
    family: u32,
    timeline: vk::Semaphore,
    /// The lock of the queue.
    turn: ReentrantLock,
    /// The value of the last submission, changed only under the lock.
    last: AtomicU64,
}

/// A value of a queue's timeline: when it is reached, all earlier submissions are done.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimelinePoint {
    timeline: vk::Semaphore,
    value: u64,
}

impl Queue {
    /// # Safety
    ///
    /// 1. The device has timeline semaphores, and was made with that queue.
    pub(super) unsafe fn of(
        functions: &ash::Device,
        device: Device,
        family: u32,
        index: u32,
    ) -> Result<Self, Error> {
        let mut kind =
            vk::SemaphoreTypeCreateInfo::default().semaphore_type(vk::SemaphoreType::TIMELINE);
        let info = vk::SemaphoreCreateInfo::default().push_next(&mut kind);
        // SAFETY: by our caller's 1, the device supports the semaphore.
        let made = unsafe { functions.create_semaphore(&info, None) };
        let timeline = named(device, "vkCreateSemaphore", made)?;
        // SAFETY: by our caller's 1, the queue exists.
        let raw = unsafe { functions.get_device_queue(family, index) };
        Ok(Self { raw, family, timeline, turn: ReentrantLock::default(), last: AtomicU64::new(0) })
    }

    pub(super) fn raw(&self) -> vk::Queue {
        self.raw
    }

    pub(super) fn family(&self) -> u32 {
        self.family
    }

    /// Calls a function while no other thread uses the queue.
    pub(super) fn alone<R>(&self, call: impl FnOnce(vk::Queue) -> R) -> R {
        self.turn.take(|| call(self.raw))
    }

    /// Enqueues commands, after `after` if there is one. The result is reached when they,
    /// and everything that was enqueued before, are done.
    ///
    /// # Safety
    ///
    /// 1. The queue is of the device, and so is `after`.
    /// 2. The commands are complete, were made for the family of the queue, and stay until
    ///    the result is reached, as does all that they name.
    pub(super) unsafe fn submit(
        &self,
        functions: &ash::Device,
        device: Device,
        after: Option<TimelinePoint>,
        commands: &[vk::CommandBuffer],
    ) -> Result<TimelinePoint, Error> {
        self.alone(|queue| {
            let next = self.last.load(Ordering::Relaxed).saturating_add(1);
            let (signals, signalled) = ([self.timeline], [next]);
            let waits = after.map(|point| point.timeline);
            let waited = after.map(|point| point.value);
            let stages = after.map(|_| vk::PipelineStageFlags::ALL_COMMANDS);
            let mut values = vk::TimelineSemaphoreSubmitInfo::default()
                .wait_semaphore_values(waited.as_slice())
                .signal_semaphore_values(&signalled);
            let info = vk::SubmitInfo::default()
                .wait_semaphores(waits.as_slice())
                .wait_dst_stage_mask(stages.as_slice())
                .command_buffers(commands)
                .signal_semaphores(&signals)
                .push_next(&mut values);
            // SAFETY: by our caller's 1 and 2; this thread holds the lock of the queue, and
            // the values of its timeline only increase.
            let submitted = unsafe { functions.queue_submit(queue, &[info], vk::Fence::null()) };
            named(device, "vkQueueSubmit", submitted)?;
            self.last.store(next, Ordering::Relaxed);
            Ok(TimelinePoint { timeline: self.timeline, value: next })
        })
    }

    /// Waits on the host until the queue is idle. The wait is repeated while it fails for
    /// lack of memory.
    ///
    /// # Safety
    ///
    /// 1. The queue is of the device.
    pub(super) unsafe fn drain(&self, functions: &ash::Device) {
        self.alone(|queue| {
            // SAFETY: by our caller's 1; this thread holds the lock of the queue.
            while lacks_memory(unsafe { functions.queue_wait_idle(queue) }) {
                std::thread::yield_now();
            }
        });
    }
}

/// Whether a wait failed for lack of memory. After any other error the device is lost, and
/// does no more work.
fn lacks_memory(outcome: ash::prelude::VkResult<()>) -> bool {
    matches!(
        outcome,
        Err(vk::Result::ERROR_OUT_OF_HOST_MEMORY | vk::Result::ERROR_OUT_OF_DEVICE_MEMORY)
    )
}

#[cfg(test)]
impl TimelinePoint {
    /// A point that belongs to no queue.
    pub(super) fn of_value(value: u64) -> Self {
        Self { timeline: vk::Semaphore::null(), value }
    }

    pub(super) fn value(self) -> u64 {
        self.value
    }
}

impl TimelinePoint {
    /// Whether the point was reached; `false` if the query fails.
    ///
    /// # Safety
    ///
    /// 1. The point is of that device.
    pub(super) unsafe fn is_reached(self, functions: &ash::Device) -> bool {
        // SAFETY: by our caller's 1; timelines live as long as their device.
        let value = unsafe { functions.get_semaphore_counter_value(self.timeline) };
        value.is_ok_and(|value| value >= self.value)
    }

    /// Waits on the host until the point is reached, or cannot be reached any more.
    ///
    /// # Safety
    ///
    /// 1. The point is of that device.
    pub(super) unsafe fn wait(self, functions: &ash::Device, device: Device) -> Result<(), Error> {
        let (timelines, values) = ([self.timeline], [self.value]);
        let info = vk::SemaphoreWaitInfo::default().semaphores(&timelines).values(&values);
        loop {
            // SAFETY: by our caller's 1; timelines live as long as their device.
            let waited = unsafe { functions.wait_semaphores(&info, u64::MAX) };
            match waited {
                waited if lacks_memory(waited) => std::thread::yield_now(),
                Err(vk::Result::TIMEOUT) => {}
                waited => return named(device, "vkWaitSemaphores", waited),
            }
        }
    }
}
