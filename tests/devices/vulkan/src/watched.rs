//! Functions of a device that are counted, and that fail on request.

use std::ffi::{CStr, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicI64, AtomicU64, Ordering};

use ash::vk;

/// Buffers, memory and command pools that exist.
static EXIST: AtomicI64 = AtomicI64::new(0);
/// Submissions so far.
static SUBMITTED: AtomicU64 = AtomicU64::new(0);
/// After how many calls one fails; 0 for never.
static FAILS_AFTER: AtomicI32 = AtomicI32::new(0);
/// The driver's functions.
static REAL: OnceLock<ash::DeviceFnV1_0> = OnceLock::new();

/// Buffers, memory and command pools that exist.
pub fn exist() -> i64 {
    EXIST.load(Ordering::SeqCst)
}

/// Submissions so far.
pub fn submitted() -> u64 {
    SUBMITTED.load(Ordering::SeqCst)
}

/// Makes that call from now on fail, 1 being the next; 0 for none. Says whether
/// one was to fail that was not called.
pub fn fail_after(calls: i32) -> bool {
    FAILS_AFTER.swap(calls, Ordering::SeqCst) != 0
}

/// Counts memory that was kept on purpose as freed.
pub fn forgive(kept: i64) {
    EXIST.fetch_sub(kept, Ordering::SeqCst);
}

/// Whether this call is to fail.
fn fails() -> bool {
    FAILS_AFTER
        .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| (left > 0).then_some(left - 1))
        == Ok(1)
}

/// Counts a submission.
pub(crate) fn submission() -> Option<vk::Result> {
    SUBMITTED.fetch_add(1, Ordering::SeqCst);
    fails().then_some(vk::Result::ERROR_OUT_OF_HOST_MEMORY)
}

/// Remembers the driver's functions.
pub(crate) fn watch(real: &ash::DeviceFnV1_0) {
    assert!(REAL.set(real.clone()).is_ok(), "one device");
}

/// The driver's functions.
pub(crate) fn real() -> &'static ash::DeviceFnV1_0 {
    REAL.get().expect("a device")
}

macro_rules! watched {
    ($($create:ident $create_name:literal: $info:ty => $handle:ty, $destroy:ident $destroy_name:literal;)+) => {
        $(
            unsafe extern "system" fn $create(
                device: vk::Device,
                info: *const $info,
                allocator: *const vk::AllocationCallbacks<'_>,
                made: *mut $handle,
            ) -> vk::Result {
                if fails() {
                    return vk::Result::ERROR_OUT_OF_DEVICE_MEMORY;
                }
                // SAFETY: the caller's arguments.
                let outcome = unsafe { (real().$create)(device, info, allocator, made) };
                EXIST.fetch_add(i64::from(outcome == vk::Result::SUCCESS), Ordering::SeqCst);
                outcome
            }

            unsafe extern "system" fn $destroy(
                device: vk::Device,
                handle: $handle,
                allocator: *const vk::AllocationCallbacks<'_>,
            ) {
                EXIST.fetch_sub(1, Ordering::SeqCst);
                // SAFETY: the caller's arguments.
                unsafe { (real().$destroy)(device, handle, allocator) }
            }
        )+

        /// Puts them in the place of the driver's.
        pub(crate) fn function(name: &CStr) -> Option<*const c_void> {
            let name = name.to_str().ok()?;
            $(
                if name == $create_name {
                    return Some($create as *const c_void);
                }
                if name == $destroy_name {
                    return Some($destroy as *const c_void);
                }
            )+
            None
        }
    };
}

watched! {
    create_buffer "vkCreateBuffer": vk::BufferCreateInfo<'_> => vk::Buffer,
        destroy_buffer "vkDestroyBuffer";
    allocate_memory "vkAllocateMemory": vk::MemoryAllocateInfo<'_> => vk::DeviceMemory,
        free_memory "vkFreeMemory";
    create_command_pool "vkCreateCommandPool": vk::CommandPoolCreateInfo<'_> => vk::CommandPool,
        destroy_command_pool "vkDestroyCommandPool";
}

/// Makes a pool of the test's own, which is not counted, and never fails.
///
/// # Safety
///
/// 1. The arguments are as Vulkan documents.
pub(crate) unsafe fn pool(
    device: vk::Device,
    info: &vk::CommandPoolCreateInfo<'_>,
) -> vk::CommandPool {
    let mut pool = vk::CommandPool::null();
    // SAFETY: (1); the answer has a place.
    let made =
        unsafe { (real().create_command_pool)(device, info, std::ptr::null(), &raw mut pool) };
    made.result().expect("a pool");
    pool
}
