//! Allocation of tensors in host memory: [`allocate`].

use super::Prototype;
use crate::device::Device;
use crate::dtype::DataType;
use crate::error::Error;
use crate::export::compact_managed;
use crate::managed::ManagedTensor;
use crate::storage::{AlignedBuf, DataRef, Storage};
use crate::stream::ConsumerPlace;

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

/// Allocates a zeroed tensor, aligned to 64 bytes, in two allocations: its memory, and the
/// packet.
///
/// A `DeviceBuffer`, which all other devices use, would need a third allocation, because it
/// can have several owners and records streams. The host has no streams.
///
/// # Errors
///
/// [`Error::OutOfMemory`], and [`Error::NoBackend`] for a device other than `Device::CPU`.
pub(super) fn allocate(prototype: &Prototype<'_>) -> Result<ManagedTensor, Error> {
    let device = prototype.device();
    if device != Device::CPU {
        return Err(Error::NoBackend { device });
    }
    let block = AlignedBuf::zeroed(prototype.byte_len())?;
    let memory = CallersMemory { block, dtype: prototype.dtype() };
    compact_managed(memory, prototype.shape(), ConsumerPlace::DefaultStream)
}
