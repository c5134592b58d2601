//! Registers a `VkDevice` with this process: [`Vulkan::adopt`].

use std::vec::Vec;

use ash::vk;

use super::Vulkan;
use super::deferred_destroy::Retired;
use super::devices::{self, DeviceState};
use super::queue::Queue;
use crate::device::Device;
use crate::error::Error;
use crate::ffi;

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
        let index = devices::add(DeviceState {
            functions: device,
            memory_types: memory.memory_types_as_slice().to_vec(),
            queues: adopted,
            families,
            retired: Retired::default(),
        });
        Ok(Device::new(ffi::kDLVulkan, index))
    }
}
