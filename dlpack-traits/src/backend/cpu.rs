//! Host memory: [`Cpu`].

use alloc::alloc::{alloc_zeroed, dealloc};
use core::alloc::Layout;
use core::ptr::NonNull;

use super::memory::{MemoryRange, MemoryRef};
use super::{Backend, MemoryType, NoStream, Prototype, StreamHandle, StreamRules, WorkStream};
use crate::device::Device;
use crate::dtype::DataType;
use crate::error::Error;
use crate::export::compact_managed;
use crate::ffi;
use crate::managed::ManagedTensor;
use crate::storage::{ALIGNMENT, AlignedBuf, DataRef, Storage};
use crate::stream_arg::ConsumerPlace;

/// Ordinary memory of the host. It has no streams: the work of a call is done
/// when the call returns.
#[derive(Clone, Copy, Debug)]
pub struct Cpu;

// SAFETY: 1. and 2. `NoStream` has no handle, so every value of it is a stream
// of the device. 3. There is nothing to keep. 4. It is not defined. 8. The global allocator
// returns zeroed memory of that layout, no one else uses it, and the work of a call is done when
// the call returns, so no work is pending on freed memory; the bytes of a copy are copied before
// the call returns. 9. An address of the host is one.
unsafe impl Backend for Cpu {
    const MEMORY_TYPES: &'static [MemoryType] = &[MemoryType::with_addresses(ffi::kDLCPU)];
    const RULES: StreamRules = StreamRules::HOST;
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

    fn allocate(_: &WorkStream<Self>, byte_len: usize) -> Result<MemoryRange, Error> {
        let out_of_memory = Error::OutOfMemory { bytes: byte_len };
        let layout =
            Layout::from_size_align(byte_len.max(1), ALIGNMENT).map_err(|_| out_of_memory)?;
        // SAFETY: the layout has a size of at least one byte.
        let data = unsafe { alloc_zeroed(layout) };
        let data = NonNull::new(data.cast()).ok_or(out_of_memory)?;
        Ok(MemoryRange::new(data, byte_len))
    }

    unsafe fn deallocate(_: &WorkStream<Self>, memory: MemoryRange) -> Result<(), Error> {
        let MemoryRange { data, byte_len, .. } = memory;
        let layout = Layout::from_size_align(byte_len.max(1), ALIGNMENT)
            .map_err(|_| Error::OutOfMemory { bytes: byte_len })?;
        // SAFETY: by our caller's 1, `allocate` returned it for the same
        // layout.
        unsafe { dealloc(data.as_ptr().cast(), layout) };
        Ok(())
    }

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

    /// Allocates in two allocations: the memory, and the packet. A `DeviceBuffer`, which all
    /// other devices use, would need a third, because it can have several owners and records
    /// streams. The host has no streams.
    fn allocate_tensor(prototype: &Prototype<'_>) -> Result<Option<ManagedTensor>, Error> {
        let device = prototype.device();
        if device != Device::CPU {
            return Err(Error::NoBackend { device });
        }
        let block = AlignedBuf::zeroed(prototype.byte_len())?;
        let memory = CallersMemory { block, dtype: prototype.dtype() };
        compact_managed(memory, prototype.shape(), ConsumerPlace::DefaultStream).map(Some)
    }
}

/// Memory that Rust never accesses: it belongs to the caller that allocated the tensor.
struct CallersMemory {
    block: AlignedBuf,
    dtype: DataType,
}

impl Storage for CallersMemory {
    #[inline]
    fn data(&self) -> DataRef<'_> {
        let (ptr, byte_len) = (self.block.as_ptr(), self.block.byte_len());
        // SAFETY: 1. The block has that many bytes, in one allocation. 2. It was zeroed, is
        // aligned to 64 bytes, and any bits are valid. 3. Rust code does not access it.
        unsafe { DataRef::from_raw_parts_shared(ptr, byte_len, self.dtype, Device::CPU) }
    }
}
