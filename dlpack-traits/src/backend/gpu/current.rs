//! The current stream of a thread: [`Gpu::enter_stream`].

use alloc::sync::Arc;
use core::any::Any;

use super::Gpu;
use super::stream::borrow;
use super::vendor::Vendor;
use crate::backend::stream_guard::{self, StreamGuard};
use crate::backend::{StreamHandle, WorkStream};
use crate::device::Device;
use crate::error::Error;

impl<V: Vendor> Gpu<V> {
    /// A stream of another library, which `owner` keeps alive.
    ///
    /// # Errors
    ///
    /// [`Error::NoBackend`], [`Error::StreamRefused`] for CUDA's per-thread default stream,
    /// which is a different stream on every thread, and those of the runtime.
    ///
    /// # Safety
    ///
    /// 1. `handle` names a stream of `device` as long as `owner`, or a clone of it,
    ///    lives.
    pub unsafe fn stream_kept_by(
        device: Device,
        handle: StreamHandle,
        owner: Arc<dyn Any + Send + Sync>,
    ) -> Result<WorkStream<Self>, Error> {
        refuse_per_thread(device, handle)?;
        // SAFETY: 1. By our caller's 1, as `owner` is kept with the result.
        let stream = unsafe { borrow::<V>(device, handle) }?.kept_by(owner);
        // SAFETY: 1. By our caller's 1, as `stream` keeps `owner`. 2. `borrow` checked it.
        Ok(unsafe { WorkStream::new(device, handle, stream) })
    }

    /// Makes the stream the current one of this thread, until the guard is dropped: new
    /// memory is allocated for it, and consumers work on it too (`current_work_stream`). It
    /// also becomes the current stream for pinned and managed memory of its GPU.
    #[expect(clippy::needless_pass_by_value, reason = "the thread keeps it, as on all backends")]
    pub fn enter(stream: WorkStream<Self>) -> StreamGuard {
        let (handle, stream) = (stream.handle(), stream.stream().of_gpu());
        // SAFETY: 1. and 2. It is the same stream, which keeps the same owner, with the
        // device of its GPU.
        stream_guard::enter(unsafe { WorkStream::<Self>::new(stream.device(), handle, stream) })
    }

    /// [`enter`](Self::enter) for a handle without an owner.
    ///
    /// # Errors
    ///
    /// [`Error::NoBackend`], [`Error::StreamRefused`] for CUDA's per-thread default stream,
    /// which is a different stream on every thread, and those of the runtime.
    ///
    /// # Safety
    ///
    /// 1. `handle` names a stream of `device`, and does so until the guard is
    ///    dropped, and so is every stream and buffer that this thread got, and every
    ///    buffer and tensor that it handed off, meanwhile.
    pub unsafe fn enter_stream(device: Device, handle: StreamHandle) -> Result<StreamGuard, Error> {
        refuse_per_thread(device, handle)?;
        // SAFETY: 1. By our caller's 1.
        let stream = unsafe { borrow::<V>(device, handle) }?;
        // SAFETY: 1. By our caller's 1. 2. `borrow` checked it.
        Ok(Self::enter(unsafe { WorkStream::new(device, handle, stream) }))
    }
}

/// Rejects the handle of CUDA's per-thread default streams. On ROCm it does not name a
/// stream.
fn refuse_per_thread(device: Device, handle: StreamHandle) -> Result<(), Error> {
    let rule = "name a stream that was created";
    if handle.number() == 2 {
        return Err(Error::StreamRefused { device, stream: Some(2), rule });
    }
    Ok(())
}
