//! Queues as streams: [`VulkanStream`], [`VulkanEvent`].

use core::{fmt, ptr};

use super::devices::DeviceState;
use super::handle::number;
use super::queue::{Queue, TimelinePoint};
use crate::backend::{Event, Stream, StreamHandle};
use crate::device::Device;
use crate::error::Error;

/// A queue of a device.
#[derive(Clone, Copy)]
pub struct VulkanStream {
    device: Device,
    known: &'static DeviceState,
    index: usize,
}

impl VulkanStream {
    pub(super) fn new(device: Device, known: &'static DeviceState, index: usize) -> Self {
        Self { device, known, index }
    }

    /// The handle of the queue; NULL, which names no queue, if it does not fit.
    pub(super) fn handle(&self) -> StreamHandle {
        StreamHandle::from_number(number(self.device, self.queue().raw()).unwrap_or(0))
    }

    pub(super) fn device(&self) -> Device {
        self.device
    }

    pub(super) fn known(&self) -> &'static DeviceState {
        self.known
    }

    pub(super) fn queue(&self) -> &'static Queue {
        self.known.queue(self.index)
    }

    /// Enqueues a mark after all work so far, and after `after`.
    pub(super) fn mark(&self, after: Option<TimelinePoint>) -> Result<TimelinePoint, Error> {
        // SAFETY: 1. Both are of the device: `wait` compares the devices. 2. There are no
        // commands.
        unsafe { self.queue().submit(self.known.functions(), self.device, after, &[]) }
    }
}

impl fmt::Debug for VulkanStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {}", self.queue().raw(), self.device)
    }
}

// SAFETY: by the Vulkan specification on submission order and semaphores: 1. Work that uses
// memory of tensors is between barriers (5 of `adopt`, `work::commands`). 2. A signal comes
// after all earlier submissions, and makes their writes available. 3. A wait at all stages
// comes before all later ones, and makes the writes visible. 4. A submission enqueues, and
// there are no graphs. 5. The host waits for a signal, or, if it could not be enqueued, for
// the queue. 6. Vulkan has no current context; queues are used under their lock. 7. A clone
// names the same queue. 8. There are no graphs. 9. to 11. A handle is that of a queue that
// is kept; `wait` rejects other devices; submissions have an order.
unsafe impl Stream for VulkanStream {
    type Event = VulkanEvent;

    fn record(&self) -> Result<VulkanEvent, Error> {
        Ok(VulkanEvent { known: self.known, point: self.mark(None)? })
    }

    fn wait(&self, event: &VulkanEvent) -> Result<(), Error> {
        if !ptr::eq(self.known, event.known) {
            let what = "way to wait for another VkDevice";
            return Err(Error::Unsupported { device: self.device, what });
        }
        self.mark(Some(event.point)).map(drop)
    }

    fn synchronize(&self) -> Result<(), Error> {
        let functions = self.known.functions();
        let waited = match self.mark(None) {
            // SAFETY: 1. It is a point of the device's queue.
            Ok(point) => unsafe { point.wait(functions, self.device) },
            Err(error) => {
                // SAFETY: 1. The queue is of the device.
                unsafe { self.queue().drain(functions) };
                Err(error)
            }
        };
        self.known.retired.clear(functions);
        waited
    }
}

/// A value of a queue's timeline.
#[derive(Clone, Copy)]
pub struct VulkanEvent {
    known: &'static DeviceState,
    point: TimelinePoint,
}

// SAFETY: 1. It is a number. The timeline lives as long as its device.
unsafe impl Event for VulkanEvent {}

impl fmt::Debug for VulkanEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.point)
    }
}
