//! USM of a device: allocation, copies, frees.

use core::ffi::c_void;
use core::ptr::NonNull;

use super::OneApi;
use super::devices::{aspect, runtime};
use super::queue::Queue;
use super::usm::UsmKind;
use crate::backend::blocking::run_blocking;
use crate::backend::{Allocator, DeviceBuffer, FreeOrder, Memcpy, MemoryRef, WorkStream};
use crate::device::Device;
use crate::dtype::DataType;
use crate::error::Error;
use crate::ffi::kDLOneAPI;

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
        UsmKind::Device => unsafe { calls.DPCTLaligned_alloc_device(ALIGN, byte_len, raw) },
        // SAFETY: 1. A queue of a device that has the kind; a power of two.
        UsmKind::Shared => unsafe { calls.DPCTLaligned_alloc_shared(ALIGN, byte_len, raw) },
        // SAFETY: 1. A queue of a device that has the kind; a power of two.
        UsmKind::Host => unsafe { calls.DPCTLaligned_alloc_host(ALIGN, byte_len, raw) },
    };
    NonNull::new(data).ok_or(Error::OutOfMemory { bytes: byte_len })
}

/// Allocates memory, and fills it with zeros in the order of the queue.
fn zeroed(queue: &Queue, kind: UsmKind, byte_len: usize) -> Result<NonNull<c_void>, Error> {
    let data = allocate(queue, kind, byte_len)?;
    let (calls, device) = (queue.calls, queue.device());
    let filled = queue.enqueue(|raw| {
        // SAFETY: 1. A queue, and new memory of as many bytes.
        unsafe { calls.DPCTLQueue_Memset(device, raw, data.as_ptr(), 0, byte_len) }
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
unsafe fn free(queue: &Queue, data: NonNull<c_void>) {
    // The lookups do not fail: `allocate` found the runtime and the device.
    if let Ok(root) = runtime().and_then(|runtime| runtime.root(queue.device())) {
        // SAFETY: 1. By our caller's 1 and 2, with the context for which it was
        // allocated.
        unsafe { queue.calls.DPCTLfree_with_context(data.as_ptr(), root.context.raw()) }
    }
}

/// Memory of a kind that the allocator does not return. Dropping it frees the
/// memory.
struct Owned {
    queue: Queue,
    data: NonNull<c_void>,
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

impl OneApi {
    /// Allocates `len` elements in memory of a kind, all of them zero, for work
    /// on the queue. [`DeviceBuffer::zeroed`] returns memory of the kind
    /// [`Device`](UsmKind::Device).
    ///
    /// # Errors
    ///
    /// Those of [`DeviceBuffer::zeroed`], and [`Error::Unsupported`] for a device
    /// that does not have the kind.
    pub fn zeroed_usm(
        kind: UsmKind,
        stream: WorkStream<Self>,
        dtype: DataType,
        len: usize,
    ) -> Result<DeviceBuffer<Self>, Error> {
        if kind == UsmKind::Device {
            return DeviceBuffer::zeroed_on(stream, dtype, len);
        }
        let byte_len = DeviceBuffer::<Self>::byte_len_of(dtype, len)?;
        let queue = stream.stream().clone();
        let data = zeroed(&queue, kind, byte_len.max(1))?;
        let owner = Owned { queue, data };
        // SAFETY: 1. It has that length, until the owner is dropped. 2. It is
        // zeroed in the order of the stream, any bits are valid, and its
        // alignment is greater. 3. It is new, and nothing here makes a
        // reference to it. 4. The fill with zeros is the only work, and is
        // enqueued on the stream. 5. The owner frees at once.
        Ok(unsafe {
            DeviceBuffer::from_raw_parts(data, byte_len, dtype, stream, owner, FreeOrder::Immediate)
        })
    }
}

// SAFETY: 1. SYCL returns new memory with that alignment. 2. Zeros are written
// in the order of the queue. 3. The host waits for the queue; it cannot wait
// for all queues, which is an error.
unsafe impl Allocator for OneApi {
    fn allocate(stream: &WorkStream<Self>, byte_len: usize) -> Result<NonNull<c_void>, Error> {
        zeroed(stream.stream(), UsmKind::Device, byte_len)
    }

    unsafe fn deallocate(
        stream: &WorkStream<Self>,
        data: NonNull<c_void>,
        _: usize,
    ) -> Result<(), Error> {
        run_blocking(|| stream.synchronize())?;
        // SAFETY: 1. By our caller's 1. 2. By our caller's 2, after the wait.
        unsafe { free(stream.stream(), data) };
        Ok(())
    }
}

// SAFETY: 1. SYCL copies exactly `byte_len` bytes; `enqueue` guarantees the
// order. 2. The copy is the last call that can fail.
unsafe impl Memcpy for OneApi {
    unsafe fn copy(
        stream: &WorkStream<Self>,
        from: MemoryRef,
        to: MemoryRef,
        byte_len: usize,
    ) -> Result<(), Error> {
        for device in [from.device, to.device] {
            if device.device_type() != kDLOneAPI && device != Device::CPU {
                return Err(Error::Unsupported { device, what: "copy by a queue of SYCL" });
            }
        }
        let queue = stream.stream();
        let (calls, device) = (queue.calls, stream.device());
        let (source, target) = (from.address().cast(), to.address().cast());
        queue.enqueue(|raw| {
            // SAFETY: 1. A queue; memory by our caller's 1.
            unsafe { calls.DPCTLQueue_Memcpy(device, raw, target, source, byte_len) }
        })
    }
}
