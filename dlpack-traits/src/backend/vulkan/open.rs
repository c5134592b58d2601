//! Registers a `VkDevice` with this process: [`Vulkan::adopt`], and for programs that do not use
//! Vulkan themselves, [`Vulkan::open`].

use std::sync::OnceLock;
use std::vec::Vec;

use ash::vk;

use super::Vulkan;
use super::convert::named;
use super::deferred_destroy::Retired;
use super::devices::{self, DeviceState};
use super::queue::Queue;
use crate::device::Device;
use crate::error::Error;
use crate::ffi;

/// The loader and the instance, which live as long as the process.
struct Loaded {
    _entry: ash::Entry,
    instance: ash::Instance,
}

/// The name of the loader in errors.
const LOADER: &str = "libvulkan.so.1";

/// Returns the instance of this crate, which the first call creates.
fn loaded() -> Result<&'static Loaded, Error> {
    static LOADED: OnceLock<Result<Loaded, Error>> = OnceLock::new();
    LOADED.get_or_init(load).as_ref().map_err(|error| *error)
}

fn load() -> Result<Loaded, Error> {
    let device = Device::new(ffi::kDLVulkan, 0);
    // SAFETY: loading Vulkan runs its initializers, which the caller wants when
    // it uses one of its devices. The library stays loaded.
    let entry = unsafe { ash::Entry::load() }.map_err(|_| Error::NoLibrary { name: LOADER })?;
    let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_2);
    let info = vk::InstanceCreateInfo::default().application_info(&application);
    // SAFETY: the application info contains only a version.
    let made = unsafe { entry.create_instance(&info, None) };
    let instance = named(device, "vkCreateInstance", made)?;
    Ok(Loaded { _entry: entry, instance })
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
        let index = devices::add(DeviceState {
            functions: device,
            memory_types: memory.memory_types_as_slice().to_vec(),
            queues: adopted,
            families,
            retired: Retired::default(),
        });
        Ok(Device::new(ffi::kDLVulkan, index))
    }

    /// Opens the physical device with that number, for programs that do not
    /// create a device themselves. Each is opened once; the result contains its
    /// id among the devices of the process. It has up to two queues.
    ///
    /// # Errors
    ///
    /// [`Error::NoLibrary`] without Vulkan's loader, [`Error::NoBackend`] if
    /// there is no such device, [`Error::Unsupported`] for a device that does
    /// not support Vulkan 1.2, and those of Vulkan.
    pub fn open(physical: usize) -> Result<Device, Error> {
        /// The maximum number of physical devices.
        static OPENED: [OnceLock<Result<Device, Error>>; 16] = [const { OnceLock::new() }; 16];
        let device = Device::new(ffi::kDLVulkan, i32::try_from(physical).unwrap_or(i32::MAX));
        let opened = OPENED.get(physical).ok_or(Error::NoBackend { device });
        let instance = &loaded()?.instance;
        *opened?.get_or_init(|| open(instance, physical))
    }
}

fn open(instance: &ash::Instance, number: usize) -> Result<Device, Error> {
    let device = Device::new(ffi::kDLVulkan, i32::try_from(number).unwrap_or(i32::MAX));
    // SAFETY: the instance is never destroyed.
    let found = unsafe { instance.enumerate_physical_devices() };
    let found = named(device, "vkEnumeratePhysicalDevices", found)?;
    let physical = *found.get(number).ok_or(Error::NoBackend { device })?;
    // SAFETY: a device of the instance.
    let properties = unsafe { instance.get_physical_device_properties(physical) };
    if properties.api_version < vk::API_VERSION_1_2 {
        return Err(Error::Unsupported { device, what: "Vulkan 1.2" });
    }
    // SAFETY: a device of the instance.
    let families = unsafe { instance.get_physical_device_queue_family_properties(physical) };
    let mut families = (0_u32..).zip(&families);
    // Compute queues support transfers, even if they do not report it.
    let computes = families.find(|(_, kind)| kind.queue_flags.contains(vk::QueueFlags::COMPUTE));
    let (family, kind) = computes.ok_or(Error::Unsupported { device, what: "queue" })?;
    let count = kind.queue_count.min(2);

    let priorities: Vec<f32> = (0..count).map(|_| 1.0).collect();
    let queues = [vk::DeviceQueueCreateInfo::default()
        .queue_family_index(family)
        .queue_priorities(&priorities)];
    // Vulkan 1.2 requires this feature of every device.
    let mut timelines =
        vk::PhysicalDeviceTimelineSemaphoreFeatures::default().timeline_semaphore(true);
    let info =
        vk::DeviceCreateInfo::default().queue_create_infos(&queues).push_next(&mut timelines);
    // SAFETY: no more queues than the family has, and a feature that the device
    // has.
    let made = unsafe { instance.create_device(physical, &info, None) };
    let made = named(device, "vkCreateDevice", made)?;
    let queues: Vec<_> = (0..count).map(|index| (family, index)).collect();
    // SAFETY: 1. The device and the instance are never destroyed. 2. and 3. By
    // the lines above. 4. and 5. Other code only gets the queues from this
    // backend, whose users accept its rules: 4 and 5 of `adopt` also apply to
    // `with_queue`.
    unsafe { Vulkan::adopt(instance, physical, made, &queues) }
}
