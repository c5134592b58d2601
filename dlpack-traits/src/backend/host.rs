//! New tensors in the memory of the host: [`allocate`].

use super::Prototype;
use crate::device::Device;
use crate::dtype::DataType;
use crate::error::Error;
use crate::export::compact_managed;
use crate::managed::ManagedTensor;
use crate::storage::{Block, DataRef, Storage};
use crate::stream::ConsumerPlace;

/// Memory that nobody in Rust looks at: it belongs to who asked for the tensor.
struct Fresh {
    block: Block,
    dtype: DataType,
}

impl Storage for Fresh {
    #[inline]
    fn data(&self) -> DataRef<'_> {
        let (ptr, byte_len) = (self.block.as_ptr(), self.block.byte_len());
        // SAFETY: 1. The block has that many bytes, in one allocation. 2. It was zeroed, is
        // aligned to 64 bytes, and any bits will do. 3. Nobody accesses it in Rust.
        unsafe { DataRef::from_raw_parts_shared(ptr, byte_len, self.dtype, Device::CPU) }
    }
}

/// A zeroed tensor, aligned to 64 bytes, in two allocations: its memory, and the packet.
///
/// A buffer of the backend, which all other devices make, is one more, because it can
/// have several owners, and remembers streams, of which the host has none.
///
/// # Errors
///
/// [`Error::OutOfMemory`], and [`Error::NoBackend`] for another device than the first.
pub(super) fn allocate(prototype: &Prototype<'_>) -> Result<ManagedTensor, Error> {
    let device = prototype.device();
    if device != Device::CPU {
        return Err(Error::NoBackend { device });
    }
    let block = Block::zeroed(prototype.byte_len())?;
    let fresh = Fresh { block, dtype: prototype.dtype() };
    compact_managed(fresh, prototype.shape(), ConsumerPlace::DefaultStream)
}
