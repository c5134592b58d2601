//! The `VkDevice`s that are registered with this process: [`Known`].

use core::fmt;
use std::vec::Vec;

use ash::vk;

use super::deferred_destroy::Retired;
use super::queue::Queue;
use super::{Vulkan, number};
use crate::backend::StreamHandle;
use crate::backend::append_list::AppendList;
use crate::device::Device;
use crate::error::Error;
use crate::ffi;

/// A `VkDevice`, with its queues and the memory of its tensors.
pub(super) struct Known {
    functions: ash::Device,
    memory_types: Vec<vk::MemoryType>,
    queues: Vec<Queue>,
    /// The families of the queues, without duplicates.
    families: Vec<u32>,
    /// The memory of tensors, and the objects to be destroyed.
    pub(super) retired: Retired,
}

impl Known {
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

impl fmt::Debug for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} with {} queues", self.functions.handle(), self.queues.len())
    }
}

/// All adopted devices. They are never removed: a tensor names its device by a number, and
/// a consumer may release it at any time, on any thread.
static KNOWN: AppendList<Known> = AppendList::new();

/// Returns the adopted device with that id.
pub(super) fn known(device: Device) -> Result<&'static Known, Error> {
    let served = device.device_type() == ffi::kDLVulkan;
    let known = KNOWN.get(device.device_id()).filter(|_| served);
    known.ok_or(Error::NoBackend { device })
}

impl Vulkan {
    /// Registers a `VkDevice` with this process, permanently. The result is the device of
    /// all tensors on it.
    ///
    /// `queues` are pairs of a family and an index; memory is allocated on the first.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] if `queues` is empty, and those of Vulkan.
    ///
    /// # Safety
    ///
    /// 1. `device` was made of `physical`, which is of `instance`, and neither it
    ///    nor `instance` is destroyed before the process ends. It is adopted once.
    /// 2. It is of Vulkan 1.2 or later, with the feature `timelineSemaphore`.
    /// 3. It was made with those queues, without flags, and all of them can
    ///    transfer. They are named once.
    /// 4. From now on these queues are only used in
    ///    [`with_queue`](Self::with_queue): by `vkQueueSubmit`, `vkQueuePresentKHR` and
    ///    `vkQueueWaitIdle` alike. `vkDeviceWaitIdle` uses all queues of the device at once, so
    ///    it is called inside of a `with_queue` of each of them, in the order of `queues`.
    /// 5. Work that is submitted to them, and uses memory of tensors, begins and
    ///    ends with a barrier of all commands for all memory, because two submissions
    ///    to one queue are not ordered otherwise. It does not wait for a signal that
    ///    only a later submission to the same queue would make.
    pub unsafe fn adopt(
        instance: &ash::Instance,
        physical: vk::PhysicalDevice,
        device: ash::Device,
        queues: &[(u32, u32)],
    ) -> Result<Device, Error> {
        // SAFETY: by our caller's 1.
        let memory = unsafe { instance.get_physical_device_memory_properties(physical) };
        // Its id is only known at the end.
        let unnamed = Device::new(ffi::kDLVulkan, 0);
        if queues.is_empty() {
            return Err(Error::Unsupported { device: unnamed, what: "queue" });
        }
        let mut families: Vec<u32> = queues.iter().map(|queue| queue.0).collect();
        families.sort_unstable();
        families.dedup();
        let mut adopted = Vec::with_capacity(queues.len());
        for &(family, index) in queues {
            // SAFETY: 1. By our caller's 2 and 3. On an error, the semaphores made so far
            // remain with the device, which is never destroyed.
            adopted.push(unsafe { Queue::of(&device, unnamed, family, index) }?);
        }
        let index = KNOWN.add(Known {
            functions: device,
            memory_types: memory.memory_types_as_slice().to_vec(),
            queues: adopted,
            families,
            retired: Retired::default(),
        });
        Ok(Device::new(ffi::kDLVulkan, index))
    }
}
