//! The stream on which a thread works: [`Gpu::enter_stream`].

use alloc::sync::Arc;
use core::any::Any;
use core::cell::RefCell;
use core::fmt;
use core::marker::PhantomData;
use std::thread_local;
use std::vec::Vec;

use super::Gpu;
use super::runtime::{Vendor, runtime};
use super::stream::borrow;
use crate::backend::{StreamHandle, WorkStream};
use crate::device::Device;
use crate::error::Error;

thread_local! {
    /// What this thread entered and did not leave, the innermost last.
    static ENTERED: RefCell<Vec<(Device, StreamHandle)>> = const { RefCell::new(Vec::new()) };
}

/// The stream of a GPU on which this thread works.
pub(super) fn handle(gpu: Device) -> StreamHandle {
    // A thread that ends has left everything.
    let innermost = ENTERED.try_with(|entered| {
        let entered = entered.borrow();
        entered.iter().rev().find(|entry| entry.0 == gpu).map(|entry| entry.1)
    });
    innermost.ok().flatten().unwrap_or(StreamHandle::NULL)
}

/// While it lives, this thread works on the stream that it entered.
pub struct StreamGuard {
    gpu: Device,
    handle: StreamHandle,
    /// It belongs to the thread.
    stays: PhantomData<*mut ()>,
}

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
    /// (`current_work_stream`).
    ///
    /// # Errors
    ///
    /// [`Error::NoBackend`], [`Error::StreamRefused`] for CUDA's per-thread default
    /// stream, which is another one for every thread, and those of the runtime.
    ///
    /// # Safety
    ///
    /// 1. `handle` names a stream of `device`, and does so until the guard, and
    ///    everything that was allocated or exported meanwhile, is dropped.
    pub unsafe fn enter_stream(device: Device, handle: StreamHandle) -> Result<StreamGuard, Error> {
        let ordinal = runtime::<V>()?.ordinal(device)?;
        refuse_per_thread(device, handle)?;
        // SAFETY: 1. By 1.
        unsafe { borrow::<V>(device, handle) }?;
        let gpu = Device::new(V::DEVICE, ordinal);
        ENTERED.with_borrow_mut(|entered| entered.push((gpu, handle)));
        Ok(StreamGuard { gpu, handle, stays: PhantomData })
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

impl Drop for StreamGuard {
    fn drop(&mut self) {
        // A thread that ends has left everything.
        let _ = ENTERED.try_with(|entered| {
            let mut entered = entered.borrow_mut();
            if let Some(index) = entered.iter().rposition(|e| *e == (self.gpu, self.handle)) {
                entered.remove(index);
            }
        });
    }
}

impl fmt::Debug for StreamGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {}", self.handle, self.gpu)
    }
}
