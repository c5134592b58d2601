//! GPU memory, and host memory that a GPU can access.
//!
//! A graph uses its memory at each launch, and no call reports the last launch, so memory
//! that a captured stream would free is leaked. Only the calls that a capture on another
//! thread would make fail run in the relaxed capture mode
//! (`cuThreadExchangeStreamCaptureMode`): a deleter can run at any time, and would
//! otherwise invalidate another thread's capture.

use core::ffi::{c_uint, c_void};
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicBool, Ordering};

use super::stream::GpuStream;
use super::vendor::{Relaxed, Runtime, Vendor, enter};
use crate::backend::Stream;
use crate::backend::frees::run_blocking;
use crate::device::Device;
use crate::error::Error;

/// The error code of both vendors for a failed allocation.
const OUT_OF_MEMORY: i64 = 2;
/// The error code of both vendors for a GPU without stream-ordered allocation.
const NOT_SUPPORTED: i64 = 801;
/// Flag: pinned memory is accessible from all contexts; managed memory from all streams.
const FOR_ALL: c_uint = 1;

/// A call for a stream, with its GPU current, and allowed during captures.
pub(super) struct StreamCall<'a, V: Vendor> {
    pub(super) runtime: &'static Runtime<V>,
    pub(super) on: &'a GpuStream<V>,
    lacks_pools: &'static AtomicBool,
    _relaxed: Relaxed<V>,
    _current: V::Current,
}

impl<'a, V: Vendor> StreamCall<'a, V> {
    pub(super) fn on(on: &'a GpuStream<V>) -> Result<Self, Error> {
        let (device, ordinal) = (on.device, on.ordinal);
        let (runtime, current) = enter::<V>(device, ordinal)?;
        let relaxed = Relaxed::new(runtime, device)?;
        let lacks_pools = runtime.lacks_pools(device, ordinal)?;
        Ok(Self { runtime, on, lacks_pools, _relaxed: relaxed, _current: current })
    }

    pub(super) fn device(&self) -> Device {
        self.on.device
    }

    /// Rejects a stream that is being captured. A graph must neither allocate, free nor
    /// copy memory: memory that a graph allocates exists only while the graph runs.
    pub(super) fn refuse_capture(&self, what: &'static str) -> Result<(), Error> {
        if self.on.is_captured()? {
            return Err(Error::Unsupported { device: self.device(), what });
        }
        Ok(())
    }

    fn is_pinned(&self) -> bool {
        self.device().device_type() == V::PINNED
    }

    fn is_gpu(&self) -> bool {
        self.device().device_type() == V::DEVICE
    }

    pub(super) fn allocate(&self, byte_len: usize) -> Result<NonNull<c_void>, Error> {
        self.refuse_capture("memory for a stream while it is captured")?;
        let (calls, device) = (&self.runtime.calls, self.device());
        let mut data = ptr::null_mut();
        let allocated = if self.is_gpu() {
            self.allocate_on_gpu(&mut data, byte_len)
        } else if self.is_pinned() {
            calls.allocate_pinned(device, &mut data, byte_len, FOR_ALL)
        } else {
            calls.allocate_managed(device, &mut data, byte_len, FOR_ALL)
        };
        allocated.map_err(|error| match error {
            Error::Device { code: OUT_OF_MEMORY, .. } => Error::OutOfMemory { bytes: byte_len },
            error => error,
        })?;
        NonNull::new(data).ok_or(Error::OutOfMemory { bytes: byte_len })
    }

    /// Allocates in the order of the stream, or at once if the GPU does not support that.
    fn allocate_on_gpu(&self, to: &mut *mut c_void, byte_len: usize) -> Result<(), Error> {
        let (calls, device) = (&self.runtime.calls, self.device());
        if !self.lacks_pools.load(Ordering::Acquire) {
            match calls.allocate_in_order(device, to, byte_len, self.on.get()) {
                Err(Error::Device { code: NOT_SUPPORTED, .. }) => {}
                outcome => return outcome,
            }
            // From now on memory of this GPU is freed after a wait, which is correct for
            // memory of either kind.
            self.lacks_pools.store(true, Ordering::Release);
        }
        calls.allocate(device, to, byte_len)
    }

    pub(super) fn fill_with_zeros(
        &self,
        data: NonNull<c_void>,
        byte_len: usize,
    ) -> Result<(), Error> {
        if self.is_pinned() {
            // SAFETY: host memory of that many bytes, which was just allocated.
            unsafe { data.as_ptr().write_bytes(0, byte_len) };
            return Ok(());
        }
        let calls = &self.runtime.calls;
        // SAFETY: 1. The memory was just allocated, with that many bytes.
        unsafe { calls.fill_in_order(self.device(), data.as_ptr(), 0, byte_len, self.on.get()) }
    }

    /// Whether memory is freed in the order of a stream.
    pub(super) fn frees_in_order(&self) -> bool {
        self.is_gpu() && !self.lacks_pools.load(Ordering::Acquire)
    }

    /// Frees memory after the work of the stream.
    ///
    /// # Safety
    ///
    /// 1. `allocate` returned it for the same device, and it was not freed.
    /// 2. All work on it is done, or ordered before what is now enqueued.
    pub(super) unsafe fn free(&self, data: NonNull<c_void>) -> Result<(), Error> {
        let (calls, device, data) = (&self.runtime.calls, self.device(), data.as_ptr());
        if self.frees_in_order() {
            // SAFETY: 1. By our caller's 1 and 2; the stream is alive.
            return unsafe { calls.free_in_order(device, data, self.on.get()) };
        }
        let on = self.on;
        run_blocking(|| on.synchronize())?;
        if self.is_pinned() {
            // SAFETY: 1. By our caller's 1, and by 2 no work uses it any more.
            unsafe { calls.free_pinned(device, data) }
        } else {
            // SAFETY: 1. By our caller's 1, and by 2 no work uses it any more.
            unsafe { calls.free(device, data) }
        }
    }
}
