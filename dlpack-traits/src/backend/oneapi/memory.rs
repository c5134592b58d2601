//! USM of a device: allocation, copies, frees.

use core::ffi::c_void;
use core::ptr::NonNull;

use super::devices::{aspect, runtime};
use super::queue::Queue;
use super::usm::UsmKind;
use crate::error::Error;

/// The alignment that vectorised kernels need.
const ALIGN: usize = 256;

/// Allocates memory of a kind, bound to the default context.
fn allocate(queue: &Queue, kind: UsmKind, byte_len: usize) -> Result<NonNull<c_void>, Error> {
    let (device, calls, raw) = (queue.device(), queue.calls, queue.raw());
    let (aspect, what) = match kind {
        UsmKind::Device => (aspect::DEVICE, "USM of the kind device"),
        UsmKind::Shared => (aspect::SHARED, "USM of the kind shared"),
        UsmKind::Host => (aspect::HOST, "USM of the kind host"),
    };
    // Without the aspect, some of the functions throw.
    if !runtime()?.root(device)?.has(calls, aspect) {
        return Err(Error::Unsupported { device, what });
    }
    let data = match kind {
        // SAFETY: 1. A queue of a device that has the kind; a power of two.
        UsmKind::Device => unsafe { calls.aligned_alloc_device(ALIGN, byte_len, raw) },
        // SAFETY: 1. A queue of a device that has the kind; a power of two.
        UsmKind::Shared => unsafe { calls.aligned_alloc_shared(ALIGN, byte_len, raw) },
        // SAFETY: 1. A queue of a device that has the kind; a power of two.
        UsmKind::Host => unsafe { calls.aligned_alloc_host(ALIGN, byte_len, raw) },
    };
    NonNull::new(data).ok_or(Error::OutOfMemory { bytes: byte_len })
}

/// Allocates memory, and fills it with zeros in the order of the queue.
pub(super) fn zeroed(
    queue: &Queue,
    kind: UsmKind,
    byte_len: usize,
) -> Result<NonNull<c_void>, Error> {
    let data = allocate(queue, kind, byte_len)?;
    let (calls, device) = (queue.calls, queue.device());
    let filled = queue.enqueue(|raw| {
        // SAFETY: 1. A queue, and new memory of as many bytes.
        unsafe { calls.queue_memset(device, raw, data.as_ptr(), 0, byte_len) }
    });
    if let Err(error) = filled {
        // SAFETY: 1. It was just allocated. 2. Nothing was enqueued.
        unsafe { free(queue, data) };
        return Err(error);
    }
    Ok(data)
}

/// Frees memory.
///
/// # Safety
///
/// 1. `allocate` returned it for the same device, and it was not freed.
/// 2. All work on it is done.
pub(super) unsafe fn free(queue: &Queue, data: NonNull<c_void>) {
    // The lookups do not fail: `allocate` found the runtime and the device.
    if let Ok(root) = runtime().and_then(|runtime| runtime.root(queue.device())) {
        // SAFETY: 1. By our caller's 1 and 2, with the context for which it was
        // allocated.
        unsafe { queue.calls.free_with_context(data.as_ptr(), root.context.raw()) }
    }
}

/// Memory of a kind that the allocator does not return. Dropping it frees the
/// memory.
pub(super) struct Owned {
    pub(super) queue: Queue,
    pub(super) data: NonNull<c_void>,
}

// SAFETY: the address is only kept to be freed, which any thread may do.
unsafe impl Send for Owned {}
// SAFETY: `&Owned` has no operations.
unsafe impl Sync for Owned {}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: 1. `zeroed_usm` allocated it. 2. The buffer waits before it
        // drops its owner.
        unsafe { free(&self.queue, self.data) }
    }
}
