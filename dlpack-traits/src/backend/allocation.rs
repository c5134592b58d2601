//! Memory of a device with its owner, which frees it after all uses: [`Allocation`].

use alloc::boxed::Box;
use core::any::Any;
use core::mem::{self, ManuallyDrop};

use super::backend_trait::synchronize_device;
use super::frees::run_blocking;
use super::memory::MemoryRange;
use super::{Backend, Stream as _, UsedStreams, WorkStream, frees};
use crate::dtype::DataType;
use crate::import::ImportedStorage;
use crate::storage::Window;

/// The memory, and its owner.
///
/// Invariant: 1 to 5 of [`from_raw_parts`](super::DeviceBuffer::from_raw_parts) hold, where the bytes are
/// those of `window`.
pub(super) struct Allocation<B: Backend> {
    pub(super) window: Window,
    pub(super) dtype: DataType,
    pub(super) stream: WorkStream<B>,
    pub(super) uses: UsedStreams<B>,
    pub(super) owner: Owner,
}

/// What frees the memory.
pub(super) enum Owner {
    /// The backend's allocator, which returned this.
    Backend(MemoryRange),
    /// A value of the caller's: dropping it frees the memory.
    Value(ManuallyDrop<Box<dyn Any + Send + Sync>>, FreeOrder),
    /// Another record of the same memory, which is on the list of deferred frees.
    Deferred,
}

/// Imported memory as the owner of a buffer.
pub(super) struct Import(pub(super) ImportedStorage);

/// When memory that a value owns may be reused, once the value is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FreeOrder {
    /// After the work on the stream of the buffer, as by `cuMemFreeAsync`.
    StreamOrdered,
    /// At once. The host therefore waits for the stream before it drops the value.
    Immediate,
}

// SAFETY: `Allocation` never dereferences the address; the value that owns the memory, and
// streams, are `Send`.
unsafe impl<B: Backend> Send for Allocation<B> {}
// SAFETY: through `&Allocation`, the address is only copied, and uses are recorded by atomics.
unsafe impl<B: Backend> Sync for Allocation<B> {}

impl<B: Backend> Allocation<B> {
    /// The import that owns the memory.
    pub(super) fn import(&self) -> Option<&ImportedStorage> {
        match &self.owner {
            Owner::Value(owner, _) => owner.downcast_ref().map(|Import(import)| import),
            Owner::Backend(_) | Owner::Deferred => None,
        }
    }
}

impl<B: Backend> Drop for Allocation<B> {
    /// Frees the memory after all uses. If the device failed, so that this order cannot be
    /// established, the memory is leaked ([`Backend::abandon`]), because freeing it too early would be
    /// undefined behaviour.
    ///
    /// If work cannot be enqueued on this stream only because another stream is being
    /// captured, the memory is freed by the first allocation or free after the end of that
    /// capture.
    fn drop(&mut self) {
        if matches!(self.owner, Owner::Deferred) {
            return;
        }
        if self.stream.stream().is_blocked() {
            let owner = mem::replace(&mut self.owner, Owner::Deferred);
            let (uses, stream) = (mem::take(&mut self.uses), self.stream.clone());
            let (window, dtype) = (self.window, self.dtype);
            frees::later(Self { window, dtype, stream, uses, owner });
            return;
        }
        frees::work_off();
        let ordered = self.uses.order_before(&self.stream);
        let elsewhere = self.uses.elsewhere();
        match &mut self.owner {
            Owner::Deferred => {}
            Owner::Backend(memory) => {
                let memory = *memory;
                let deallocate = if elsewhere { B::deallocate_after_all } else { B::deallocate };
                // SAFETY: 1. `allocated` got it from the allocator, and
                // this is its only free. 2. Uses on known streams are ordered before the
                // stream's next work by the line above; our own uses are on the stream
                // itself.
                let freed = ordered.and_then(|()| unsafe { deallocate(&self.stream, memory) });
                if freed.is_err() {
                    // SAFETY: 1. As above; it was not freed, and this is its last owner.
                    unsafe { B::abandon(&self.stream, memory) }
                }
            }
            Owner::Value(..) if ordered.is_err() => {}
            Owner::Value(owner, freed) => {
                // During a capture, work that the destructor enqueues would become part of
                // the graph, and a wait would invalidate the capture.
                if !matches!(self.stream.stream().is_captured(), Ok(false)) {
                    return;
                }
                let device = self.stream.device();
                let done = match freed {
                    _ if elsewhere => synchronize_device::<B>(device),
                    FreeOrder::StreamOrdered => Ok(()),
                    FreeOrder::Immediate => run_blocking(|| self.stream.synchronize()),
                };
                if done.is_ok() {
                    // SAFETY: the value is dropped here only, and not used afterwards.
                    unsafe { ManuallyDrop::drop(owner) }
                }
            }
        }
    }
}
