//! The `VkDevice`s that are registered with this process: [`DeviceState`].

use core::fmt;
use std::vec::Vec;

use ash::vk;

use super::convert::number;
use super::deferred_destroy::Retired;
use super::queue::Queue;
use crate::backend::StreamHandle;
use crate::backend::append_list::AppendList;
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
    pub(super) fn functions(&self) -> &ash::Device {
        &self.functions
    }

    pub(super) fn queues(&self) -> &[Queue] {
        &self.queues
    }

    /// Returns a queue by its index, which `find` returned.
    #[expect(clippy::indexing_slicing, reason = "places come from `find` and from counting")]
    pub(super) fn queue(&self, index: usize) -> &Queue {
        &self.queues[index]
    }

    pub(super) fn families(&self) -> &[u32] {
        &self.families
    }

    /// Returns the index of the queue with that handle. The handle is only compared.
    pub(super) fn find(&self, device: Device, handle: StreamHandle) -> Result<usize, Error> {
        let called = |queue: &Queue| number(device, queue.raw()) == Ok(handle.number());
        let what = "queue that was not adopted";
        self.queues.iter().position(called).ok_or(Error::Unsupported { device, what })
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
static KNOWN: AppendList<DeviceState> = AppendList::new();

/// Adds a device, permanently, and returns its id.
pub(super) fn add(known: DeviceState) -> i32 {
    KNOWN.append(known)
}

/// Returns the adopted device with that id.
pub(super) fn known(device: Device) -> Result<&'static DeviceState, Error> {
    let served = device.device_type() == ffi::kDLVulkan;
    let known = KNOWN.get(device.device_id()).filter(|_| served);
    known.ok_or(Error::NoBackend { device })
}
