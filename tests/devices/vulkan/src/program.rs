//! A program with a Vulkan device of its own, which makes and takes tensors.

use std::io::Write;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use ash::vk::{self, Handle};
use dlpack_traits::backend::{StreamHandle, Vulkan, WorkStream};
use dlpack_traits::{Device, StreamArg};

use crate::split::split;
use crate::watched;

/// The program's device; one test at a time uses it.
#[derive(Debug)]
pub struct Program {
    /// As tensors name it.
    pub device: Device,
    before: i64,
    _alone: MutexGuard<'static, ()>,
}

/// Memory of the program that the host reads: one number, after copies to it.
#[derive(Debug)]
pub struct Seen {
    buffer: vk::Buffer,
    memory: vk::DeviceMemory,
    place: *mut u32,
}

/// Keeps a queue from going on until it is opened, or dropped.
#[derive(Debug)]
pub struct Gate(vk::Semaphore);

/// Records the commands of a kernel.
type Record<'a> = &'a dyn Fn(&ash::Device, vk::CommandBuffer);

struct Made {
    device: Device,
    memory_types: vk::PhysicalDeviceMemoryProperties,
    family: u32,
}

/// Returns the device; `None`, with a message, where there is no driver.
pub fn program() -> Option<Program> {
    static ALONE: Mutex<()> = Mutex::new(());
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    match made() {
        Ok(made) => Some(Program { device: made.device, before: watched::exist(), _alone: alone }),
        Err(reason) => skipped(reason),
    }
}

/// Says aloud that a test did not run, and why.
pub fn skipped<T>(reason: &str) -> Option<T> {
    let required = std::env::var("DLPACK_REQUIRE").unwrap_or_default();
    let needed = required.split(',').any(|name| name.trim() == "vulkan");
    assert!(!needed, "DLPACK_REQUIRE names vulkan, but {reason}");
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    // Not `println!`, which is shown for tests that fail only.
    drop(std::io::stderr().write_all(format!("SKIPPED {test}: {reason}\n").as_bytes()));
    None
}

fn made() -> Result<&'static Made, &'static str> {
    static MADE: OnceLock<Result<Made, String>> = OnceLock::new();
    MADE.get_or_init(make).as_ref().map_err(String::as_str)
}

fn make() -> Result<Made, String> {
    // SAFETY: loading Vulkan runs its initializers.
    let entry = unsafe { ash::Entry::load() }
        .map_err(|error| format!("there is no Vulkan ({error}); mesa-vulkan-drivers has one"))?;
    let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_2);
    let info = vk::InstanceCreateInfo::default().application_info(&application);
    // SAFETY: the call only queries a version.
    let instance = unsafe { entry.create_instance(&info, None) }
        .map_err(|code| format!("there is no Vulkan driver ({code})"))?;
    // It lasts, as the device is to.
    std::mem::forget(entry);
    // SAFETY: the instance lasts.
    let physical = unsafe { instance.enumerate_physical_devices() }.unwrap_or_default();
    let physical = *physical.first().ok_or("there is no Vulkan device")?;
    let priorities = [1.0];
    let family = 0;
    let queues = [vk::DeviceQueueCreateInfo::default()
        .queue_family_index(family)
        .queue_priorities(&priorities)];
    let mut timelines =
        vk::PhysicalDeviceTimelineSemaphoreFeatures::default().timeline_semaphore(true);
    let info =
        vk::DeviceCreateInfo::default().queue_create_infos(&queues).push_next(&mut timelines);
    // SAFETY: one queue of the first family, and a feature of Vulkan 1.2.
    let made = unsafe { instance.create_device(physical, &info, None) };
    let made = made.map_err(|code| format!("the Vulkan device does not start ({code})"))?;
    let functions = split(&instance, made.handle(), family);
    let queues = [(family, 0), (family, 1)];
    // SAFETY: 1. They are never destroyed. 2. By the lines above. 3. The queues that
    // `split` emulates. 4. and 5. The functions below ensure it.
    let device = unsafe { Vulkan::adopt(&instance, physical, functions, &queues) };
    let device = device.map_err(|error| error.to_string())?;
    // SAFETY: a device of the instance.
    let memory_types = unsafe { instance.get_physical_device_memory_properties(physical) };
    Ok(Made { device, memory_types, family })
}

impl Program {
    /// Its functions.
    pub fn functions(&self) -> &'static ash::Device {
        Vulkan::functions(self.device).expect("the device")
    }

    /// One of its two queues.
    pub fn queue(&self, index: usize) -> WorkStream<Vulkan> {
        Vulkan::queues(self.device).expect("the device").nth(index).expect("a queue")
    }

    /// Returns the stream argument of a consumer on a queue.
    pub fn consumer(&self, index: usize) -> StreamArg<'static> {
        // SAFETY: 1. Queues last as long as the process.
        unsafe { StreamArg::from_handle(self.queue(index).handle().number()) }
    }

    /// Submits the commands of `record`, after `waits`, with barriers around them.
    fn submit(
        &self,
        queue: StreamHandle,
        waits: &[(vk::Semaphore, u64)],
        record: Option<Record<'_>>,
    ) {
        let device = self.functions();
        let commands = record.map(|record| {
            let family = made().expect("a device").family;
            let info = vk::CommandPoolCreateInfo::default().queue_family_index(family);
            // SAFETY: a family of the device. These pools are the test's, and stay;
            // they are not made by functions that count.
            let pool = unsafe { watched::pool(device.handle(), &info) };
            let info =
                vk::CommandBufferAllocateInfo::default().command_pool(pool).command_buffer_count(1);
            // SAFETY: a new pool.
            let commands = unsafe { device.allocate_command_buffers(&info) }.expect("commands")[0];
            let info = vk::CommandBufferBeginInfo::default();
            // SAFETY: new commands.
            unsafe { device.begin_command_buffer(commands, &info) }.expect("a beginning");
            barrier(device, commands);
            record(device, commands);
            barrier(device, commands);
            // SAFETY: begun above.
            unsafe { device.end_command_buffer(commands) }.expect("an end");
            commands
        });
        let (semaphores, values): (Vec<_>, Vec<_>) = waits.iter().copied().unzip();
        let stages = vec![vk::PipelineStageFlags::ALL_COMMANDS; waits.len()];
        let mut timeline =
            vk::TimelineSemaphoreSubmitInfo::default().wait_semaphore_values(&values);
        let info = vk::SubmitInfo::default()
            .wait_semaphores(&semaphores)
            .wait_dst_stage_mask(&stages)
            .command_buffers(commands.as_slice())
            .push_next(&mut timeline);
        let submitted = Vulkan::with_queue(self.device, queue, |queue| {
            // SAFETY: the queue has no other user here.
            unsafe { device.queue_submit(queue, &[info], vk::Fence::null()) }
        });
        submitted.expect("a queue").expect("a submission");
    }

    /// A kernel: fills `count` numbers of a tensor's buffer.
    pub fn fill(&self, index: usize, data: u64, byte_offset: u64, value: u32, count: u64) {
        let buffer = vk::Buffer::from_raw(data);
        self.submit(
            self.queue(index).handle(),
            &[],
            Some(&|device, commands| {
                // SAFETY: the tensor has the bytes.
                unsafe { device.cmd_fill_buffer(commands, buffer, byte_offset, count * 4, value) };
            }),
        );
    }

    /// A kernel: reads a number of a tensor's buffer.
    pub fn look(&self, index: usize, data: u64, byte_offset: u64, seen: &Seen) {
        let (from, to) = (vk::Buffer::from_raw(data), seen.buffer);
        self.submit(
            self.queue(index).handle(),
            &[],
            Some(&|device, commands| {
                let region = vk::BufferCopy::default().src_offset(byte_offset).size(4);
                // SAFETY: both have the bytes.
                unsafe { device.cmd_copy_buffer(commands, from, to, &[region]) };
            }),
        );
    }

    /// Keeps a queue from going on.
    pub fn hold(&self, index: usize) -> Gate {
        let mut kind =
            vk::SemaphoreTypeCreateInfo::default().semaphore_type(vk::SemaphoreType::TIMELINE);
        let info = vk::SemaphoreCreateInfo::default().push_next(&mut kind);
        // SAFETY: a feature of the device.
        let gate = unsafe { self.functions().create_semaphore(&info, None) }.expect("a gate");
        self.submit(self.queue(index).handle(), &[(gate, 1)], None);
        Gate(gate)
    }

    /// Waits for a queue.
    pub fn finish(&self, index: usize) {
        self.queue(index).synchronize().expect("work that is done");
    }

    /// Memory that the host reads.
    pub fn seen(&self) -> Seen {
        let device = self.functions();
        let info =
            vk::BufferCreateInfo::default().size(4).usage(vk::BufferUsageFlags::TRANSFER_DST);
        // SAFETY: four bytes.
        let buffer = unsafe { device.create_buffer(&info, None) }.expect("a buffer");
        // SAFETY: the buffer is the device's.
        let asks = unsafe { device.get_buffer_memory_requirements(buffer) };
        let wanted = vk::MemoryPropertyFlags::HOST_VISIBLE | vk::MemoryPropertyFlags::HOST_COHERENT;
        let kinds = made().expect("a device").memory_types;
        let mut kinds = (0_u32..).zip(kinds.memory_types_as_slice());
        let kind = kinds.find(|(index, kind)| {
            asks.memory_type_bits >> index & 1 == 1 && kind.property_flags.contains(wanted)
        });
        let info = vk::MemoryAllocateInfo::default()
            .allocation_size(asks.size)
            .memory_type_index(kind.expect("memory that the host sees").0);
        // SAFETY: a type of memory that the device has.
        let memory = unsafe { device.allocate_memory(&info, None) }.expect("memory");
        // SAFETY: both are new.
        unsafe { device.bind_buffer_memory(buffer, memory, 0) }.expect("a binding");
        let all = vk::MemoryMapFlags::empty();
        // SAFETY: the host sees that memory.
        let place = unsafe { device.map_memory(memory, 0, 4, all) }.expect("a mapping");
        let seen = Seen { buffer, memory, place: place.cast() };
        // SAFETY: the mapping has room for a number.
        unsafe { seen.place.write_volatile(u32::MAX) };
        seen
    }

    /// Returns the values that a kernel read, and frees their memory.
    #[expect(clippy::needless_pass_by_value, reason = "it is gone after this")]
    pub fn take(&self, seen: Seen) -> u32 {
        let Seen { buffer, memory, place } = seen;
        // SAFETY: the mapping has a number.
        let value = unsafe { place.read_volatile() };
        // SAFETY: all queues have finished with it, as the callers ensure.
        unsafe { self.functions().destroy_buffer(buffer, None) };
        // SAFETY: as above.
        unsafe { self.functions().free_memory(memory, None) };
        value
    }

    /// Returns the values that a kernel has read so far, while it may still run.
    pub fn peek(&self, seen: &Seen) -> u32 {
        // SAFETY: the mapping has a number.
        unsafe { seen.place.read_volatile() }
    }
}

impl Gate {
    /// Lets the queue go on.
    pub fn open(&self) {
        let device = Vulkan::functions(made().expect("a device").device).expect("the device");
        // SAFETY: a semaphore of the device.
        let value = unsafe { device.get_semaphore_counter_value(self.0) };
        if value == Ok(0) {
            let info = vk::SemaphoreSignalInfo::default().semaphore(self.0).value(1);
            // SAFETY: as above, and the value grows.
            unsafe { device.signal_semaphore(&info) }.expect("an open gate");
        }
    }
}

/// A failing test must not leave a blocked queue behind.
impl Drop for Gate {
    fn drop(&mut self) {
        self.open();
    }
}

/// All buffers, memory and pools that a test made are gone when queues are done.
impl Drop for Program {
    fn drop(&mut self) {
        watched::fail_after(0);
        if std::thread::panicking() {
            return;
        }
        for index in [0, 1, 0] {
            self.finish(index);
        }
        assert_eq!(watched::exist(), self.before, "something leaked");
    }
}

fn barrier(device: &ash::Device, commands: vk::CommandBuffer) {
    let all = vk::PipelineStageFlags::ALL_COMMANDS;
    let memory = [vk::MemoryBarrier::default()
        .src_access_mask(vk::AccessFlags::MEMORY_WRITE)
        .dst_access_mask(vk::AccessFlags::MEMORY_READ | vk::AccessFlags::MEMORY_WRITE)];
    let none = vk::DependencyFlags::empty();
    // SAFETY: commands that are being recorded.
    unsafe { device.cmd_pipeline_barrier(commands, all, all, none, &memory, &[], &[]) };
}
