//! The `VkDevice`s that are registered with this process ([`DeviceState`]), and their queues as
//! streams: [`VulkanStream`], [`VulkanEvent`].

use core::{fmt, ptr};
use std::boxed::Box;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::vec::Vec;

use ash::vk;

use super::convert::number;
use super::deferred_destroy::Retired;
use super::queue::{Queue, TimelinePoint};
use crate::backend::{Event, Stream, StreamHandle};
use crate::device::Device;
use crate::error::Error;
use crate::ffi;

/// A `VkDevice`, with its queues and the memory of its tensors.
pub(super) struct DeviceState {
    pub(super) functions: ash::Device,
    pub(super) memory_types: Vec<vk::MemoryType>,
    pub(super) queues: Vec<Queue>,
    /// The families of the queues, without duplicates.
    pub(super) families: Vec<u32>,
    /// The memory of tensors, and the objects to be destroyed.
    pub(super) retired: Retired,
}

impl DeviceState {
    /// Returns a queue by its index, which `find` returned.
    #[expect(clippy::indexing_slicing, reason = "places come from `find` and from counting")]
    pub(super) fn queue(&self, index: usize) -> &Queue {
        &self.queues[index]
    }

    /// Returns the index of the queue with that handle. The handle is only compared.
    pub(super) fn find(&self, device: Device, handle: StreamHandle) -> Result<usize, Error> {
        let called = |queue: &Queue| number(device, queue.raw()) == Ok(handle.number());
        let what = "queue that was not adopted";
        self.queues.iter().position(called).ok_or(Error::Unsupported { device, what })
    }

    /// All queues as streams.
    pub(super) fn streams(&'static self, device: Device) -> impl Iterator<Item = VulkanStream> {
        (0..self.queues.len()).map(move |index| VulkanStream::new(device, self, index))
    }

    /// The index of the first memory type among `allowed` that has the properties.
    pub(super) fn memory_type(
        &self,
        allowed: u32,
        properties: vk::MemoryPropertyFlags,
    ) -> Option<u32> {
        let types = (0_u32..).zip(&self.memory_types);
        let mut fitting = types.filter(|(index, kind)| {
            allowed.checked_shr(*index).unwrap_or(0) & 1 == 1
                && kind.property_flags.contains(properties)
        });
        fitting.next().map(|(index, _)| index)
    }
}

impl fmt::Debug for DeviceState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} with {} queues", self.functions.handle(), self.queues.len())
    }
}

/// All adopted devices. They are never removed: a tensor names its device by a number, and
/// a consumer may release it at any time, on any thread.
fn adopted() -> MutexGuard<'static, Vec<&'static DeviceState>> {
    static ADOPTED: Mutex<Vec<&DeviceState>> = Mutex::new(Vec::new());
    ADOPTED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds a device, permanently, and returns its id.
pub(super) fn add(known: DeviceState) -> i32 {
    let mut all = adopted();
    let index = all.len();
    all.push(Box::leak(Box::new(known)));
    i32::try_from(index).unwrap_or(i32::MAX)
}

/// Returns the adopted device with that id.
pub(super) fn known(device: Device) -> Result<&'static DeviceState, Error> {
    let served = device.device_type() == ffi::kDLVulkan;
    let index = usize::try_from(device.device_id()).ok().filter(|_| served);
    index.and_then(|index| adopted().get(index).copied()).ok_or(Error::NoBackend { device })
}

/// A queue of a device.
#[derive(Clone, Copy)]
pub struct VulkanStream {
    pub(super) device: Device,
    pub(super) known: &'static DeviceState,
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

    pub(super) fn queue(&self) -> &'static Queue {
        self.known.queue(self.index)
    }

    /// Enqueues a mark after all work so far, and after `after`.
    pub(super) fn mark(&self, after: Option<TimelinePoint>) -> Result<TimelinePoint, Error> {
        // SAFETY: 1. Both are of the device: `wait` compares the devices. 2. There are no
        // commands.
        unsafe { self.queue().submit(&self.known.functions, self.device, after, &[]) }
    }
}

impl fmt::Debug for VulkanStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {}", self.queue().raw(), self.device)
    }
}

// SAFETY: by the Vulkan specification on submission order and semaphores:
// 1 (order): work that uses memory of tensors is between barriers (5 of `adopt`,
// `work::commands`).
// 2 (`record`): a signal comes after all earlier submissions, whose writes it makes available.
// 3 (`wait`): a wait at all stages comes before all later work, to which it makes the writes
// visible.
// 4 (only enqueue): a submission does not wait.
// 5 (`synchronize`): the host waits for a signal, or, if that could not be enqueued, for the
// queue.
// 6 (any thread): there is no current context, and a queue is used under its lock.
// 7 (clone): it names the same queue.
// 8 (graphs): there are none.
// 9 (`is_same`): the default, with which handles are compared, of queues that are kept alive.
// 10 (`can_follow`): events of the same device can be waited for; `wait` rejects others.
// 11 (`fence`): submissions to a queue have an order already.
unsafe impl Stream for VulkanStream {
    type Event = VulkanEvent;

    const IN_ORDER: bool = true;
    const GRAPHS: bool = false;

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
        let functions = &self.known.functions;
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
