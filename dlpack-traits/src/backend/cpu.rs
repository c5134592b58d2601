//! Host memory: [`Cpu`].

use alloc::alloc::{alloc_zeroed, dealloc};
use core::alloc::Layout;
use core::ffi::c_void;
use core::ptr::NonNull;

use super::allocator::Allocator;
use super::backend_trait::AllocateTensor;
use super::backend_trait::{AllocatorOf, MemcpyOf};
use super::memcpy::Memcpy;
use super::memory::MemoryRef;
use super::{Backend, NoStream, StreamHandle, StreamRules, WorkStream, host};
use crate::device::Device;
use crate::error::Error;
use crate::ffi::{self, DLDeviceType};
use crate::storage::ALIGNMENT;

/// Ordinary memory of the host. It has no streams: the work of a call is done
/// when the call returns.
#[derive(Clone, Copy, Debug)]
pub struct Cpu;

// SAFETY: 1. and 2. `NoStream` has no handle, so every value of it is a stream
// of the device. 3. There is nothing to keep. 4. It is not defined.
unsafe impl Backend for Cpu {
    const DEVICE_TYPES: &'static [DLDeviceType] = &[ffi::kDLCPU];
    const RULES: StreamRules = StreamRules::HOST;
    const ALLOCATOR: Option<AllocatorOf<Self>> = Some(AllocatorOf::THIS);
    const TENSOR: Option<AllocateTensor> = Some(host::allocate);
    const MEMCPY: Option<MemcpyOf<Self>> = Some(MemcpyOf::THIS);
    type Stream = NoStream;

    #[inline]
    fn current_stream(device: Device) -> Result<WorkStream<Self>, Error> {
        if device != Device::CPU {
            return Err(Error::NoBackend { device });
        }
        // SAFETY: 1. and 2. `NoStream` can be used with any handle and device.
        Ok(unsafe { WorkStream::new(device, StreamHandle::NULL, NoStream) })
    }

    #[inline]
    unsafe fn borrow_stream(_: Device, _: StreamHandle) -> Result<NoStream, Error> {
        Ok(NoStream)
    }
}

// SAFETY: 1. and 2. The global allocator returns zeroed memory of that layout.
// 3. The work of a call is done when the call returns.
unsafe impl Allocator for Cpu {
    fn allocate(_: &WorkStream<Self>, byte_len: usize) -> Result<NonNull<c_void>, Error> {
        let out_of_memory = Error::OutOfMemory { bytes: byte_len };
        let layout =
            Layout::from_size_align(byte_len.max(1), ALIGNMENT).map_err(|_| out_of_memory)?;
        // SAFETY: the layout has a size of at least one byte.
        let data = unsafe { alloc_zeroed(layout) };
        NonNull::new(data.cast()).ok_or(out_of_memory)
    }

    unsafe fn deallocate(
        _: &WorkStream<Self>,
        data: NonNull<c_void>,
        byte_len: usize,
    ) -> Result<(), Error> {
        let layout = Layout::from_size_align(byte_len.max(1), ALIGNMENT)
            .map_err(|_| Error::OutOfMemory { bytes: byte_len })?;
        // SAFETY: by our caller's 1, `allocate` returned it for the same
        // layout.
        unsafe { dealloc(data.as_ptr().cast(), layout) };
        Ok(())
    }
}

// SAFETY: 1. The bytes are copied before the call returns.
unsafe impl Memcpy for Cpu {
    unsafe fn copy(
        _: &WorkStream<Self>,
        from: MemoryRef,
        to: MemoryRef,
        byte_len: usize,
    ) -> Result<(), Error> {
        for device in [from.device, to.device] {
            if device != Device::CPU {
                return Err(Error::Unsupported { device, what: "copy by the processor" });
            }
        }
        // SAFETY: by our caller's 1, they are readable and writable, and do not
        // overlap.
        unsafe { from.address().copy_to_nonoverlapping(to.address(), byte_len) };
        Ok(())
    }
}
