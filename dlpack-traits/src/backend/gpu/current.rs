//! The stream on which a thread works: [`Gpu::enter_stream`].

use alloc::sync::Arc;
use core::any::Any;

use super::Gpu;
use super::runtime::Vendor;
use super::stream::borrow;
use crate::backend::entered::{self, Entered};
use crate::backend::{StreamHandle, WorkStream};
use crate::device::Device;
use crate::error::Error;

impl<V: Vendor> Gpu<V> {
    /// A stream of somebody else's, which `owner` keeps alive.
    ///
    /// # Errors
    ///
    /// [`Error::NoBackend`], [`Error::StreamRefused`] for CUDA's per-thread default
    /// stream, which is another one for every thread, and those of the runtime.
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
        // SAFETY: 1. By 1, `owner` being kept with the result.
        let stream = unsafe { borrow::<V>(device, handle) }?.kept_by(owner);
        // SAFETY: 1. By 1, and `stream` keeps `owner`. 2. `borrow` saw to that.
        Ok(unsafe { WorkStream::new(device, handle, stream) })
    }

    /// From now on, until the guard is dropped, this thread works on that stream:
    /// new memory is for it, and consumers are told to work on it too
    /// (`current_work_stream`). It is the stream of its GPU for pinned and managed
    /// memory too.
    #[expect(clippy::needless_pass_by_value, reason = "the thread keeps it, as on all backends")]
    pub fn enter(stream: WorkStream<Self>) -> Entered {
        let (handle, stream) = (stream.handle(), stream.stream().of_gpu());
        // SAFETY: 1. and 2. It is the same stream, which keeps what the one that was
        // given keeps, under the name of its GPU.
        entered::enter(unsafe { WorkStream::<Self>::new(stream.device(), handle, stream) })
    }

    /// [`enter`](Self::enter) for a handle that nothing keeps alive.
    ///
    /// # Errors
    ///
    /// [`Error::NoBackend`], [`Error::StreamRefused`] for CUDA's per-thread default
    /// stream, which is another one for every thread, and those of the runtime.
    ///
    /// # Safety
    ///
    /// 1. `handle` names a stream of `device`, and does so until the guard is
    ///    dropped, and so is every stream and buffer that this thread got, and every
    ///    buffer and tensor that it handed off, meanwhile.
    pub unsafe fn enter_stream(device: Device, handle: StreamHandle) -> Result<Entered, Error> {
        refuse_per_thread(device, handle)?;
        // SAFETY: 1. By 1.
        let stream = unsafe { borrow::<V>(device, handle) }?;
        // SAFETY: 1. By 1. 2. `borrow` saw to that.
        Ok(Self::enter(unsafe { WorkStream::new(device, handle, stream) }))
    }
}

/// Refuses the name of CUDA's per-thread default streams, which on ROCm is no
/// stream at all.
fn refuse_per_thread(device: Device, handle: StreamHandle) -> Result<(), Error> {
    let rule = "name a stream that was created";
    if handle.number() == 2 {
        return Err(Error::StreamRefused { device, stream: Some(2), rule });
    }
    Ok(())
}
