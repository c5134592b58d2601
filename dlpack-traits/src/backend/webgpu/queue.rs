//! The queue of a device: [`WebGpuStream`].

use alloc::sync::Arc;
use core::ffi::c_void;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicU32, Ordering};

use super::calls::{Calls, Handle, ScopeInfo, StringView};
use crate::backend::turn::Turn;
use crate::backend::{Event, Stream, StreamHandle};
use crate::device::Device;
use crate::error::Error;

/// Errors of use, and of memory, as `WGPUErrorFilter` numbers them. The third kind
/// is not known to wgpu-native.
const FILTERS: [u32; 2] = [1, 2];
/// `WGPUErrorType_NoError`.
const NO_ERROR: u32 = 1;
/// `WGPUErrorType_OutOfMemory`.
const OUT_OF_MEMORY: u32 = 3;
/// `WGPUCallbackMode_AllowSpontaneous`.
pub(super) const SPONTANEOUS: u32 = 3;

/// A device that was adopted.
#[derive(Debug)]
pub(super) struct Known {
    calls: Calls,
    device: NonNull<c_void>,
    queue: Handle,
    /// The scopes of errors are one stack for all threads of a device.
    scopes: Turn,
}

// SAFETY: objects of wgpu-native may be used by any thread.
unsafe impl Send for Known {}
// SAFETY: and by several.
unsafe impl Sync for Known {}

impl Known {
    /// # Safety
    ///
    /// 1. `device` is a `WGPUDevice` of the library, and alive.
    pub(super) unsafe fn of(calls: Calls, device: NonNull<c_void>) -> Self {
        // SAFETY: by 1.
        unsafe { (calls.device_add_ref)(device.as_ptr()) };
        // SAFETY: by 1.
        let queue = unsafe { (calls.device_queue)(device.as_ptr()) };
        Self { calls, device, queue, scopes: Turn::default() }
    }

    pub(super) fn calls(&self) -> &Calls {
        &self.calls
    }

    pub(super) fn device(&self) -> Handle {
        self.device.as_ptr()
    }

    pub(super) fn queue(&self) -> Handle {
        self.queue
    }

    /// Makes calls, and tells of errors. Without that wgpu-native ends the process.
    ///
    /// One thread at a time: an error goes to the scope that was opened last,
    /// whoever opened it. A callback of the program's, which wgpu-native calls in
    /// `calls`, may come back here: its scopes are closed before ours.
    pub(super) fn guarded<T>(
        &self,
        device: Device,
        call: &'static str,
        byte_len: usize,
        calls: impl FnOnce(&Calls) -> T,
    ) -> Result<T, Error> {
        self.scopes.take(|| {
            for filter in FILTERS {
                // SAFETY: the device is kept; a filter of `webgpu.h`.
                unsafe { (self.calls.push_scope)(self.device(), filter) };
            }
            let mut outcome = Ok(calls(&self.calls));
            for _ in FILTERS {
                let answer = Answer::default();
                let (next, second) = (ptr::null(), ptr::null_mut());
                let first = answer.for_callback();
                let info = ScopeInfo { next, mode: SPONTANEOUS, callback: popped, first, second };
                // SAFETY: the device is kept, and the callback is called once: by
                // wgpu-native before it returns.
                unsafe { (self.calls.pop_scope)(self.device(), info) };
                outcome = outcome.and_then(|made| match answer.get() {
                    NO_ERROR => Ok(made),
                    OUT_OF_MEMORY => Err(Error::OutOfMemory { bytes: byte_len }),
                    code => {
                        let code = i32::try_from(code).unwrap_or(i32::MAX);
                        Err(Error::Device { device, call, code })
                    }
                });
            }
            outcome
        })
    }
}

unsafe extern "C" fn popped(_: u32, kind: u32, _: StringView, answer: *mut c_void, _: *mut c_void) {
    // SAFETY: 1. `guarded` gave it for this call.
    unsafe { Answer::give(answer, kind) };
}

/// A number that a callback gives. 0 until then, which is no success.
#[derive(Debug, Default)]
pub(super) struct Answer(Arc<AtomicU32>);

impl Answer {
    /// The argument for one call of a callback. Without that call it leaks.
    pub(super) fn for_callback(&self) -> *mut c_void {
        Arc::into_raw(Arc::clone(&self.0)).cast_mut().cast()
    }

    pub(super) fn get(&self) -> u32 {
        self.0.load(Ordering::Acquire)
    }

    /// # Safety
    ///
    /// 1. `argument` is of `for_callback`, and this is the only call with it.
    pub(super) unsafe fn give(argument: *mut c_void, number: u32) {
        // SAFETY: by 1.
        let answer = unsafe { Arc::from_raw(argument.cast::<AtomicU32>().cast_const()) };
        answer.store(number, Ordering::Release);
    }
}

/// The queue of a device.
#[derive(Clone, Copy, Debug)]
pub struct WebGpuStream {
    device: Device,
    known: &'static Known,
}

impl WebGpuStream {
    pub(super) fn new(device: Device, known: &'static Known) -> Self {
        Self { device, known }
    }

    pub(super) fn handle(&self) -> StreamHandle {
        StreamHandle::from_ptr(self.known.queue)
    }

    pub(super) fn device(&self) -> Device {
        self.device
    }

    pub(super) fn known(&self) -> &'static Known {
        self.known
    }
}

// SAFETY: 1. WebGPU's queues do so. 2. and 3. There is one stream, which is in
// order; of another device's nothing is awaited. 4. Nothing is done. 5. The poll
// returns when all work is done that was submitted before it. 6. Nothing is current in
// WebGPU. 7. It is the same queue. 8. There are no graphs. 9. to 11. The handle is that of a
// queue, which is kept; `wait` refuses other devices; a queue has an order.
unsafe impl Stream for WebGpuStream {
    type Event = WebGpuEvent;

    fn record(&self) -> Result<WebGpuEvent, Error> {
        Ok(WebGpuEvent(self.known))
    }

    fn wait(&self, event: &WebGpuEvent) -> Result<(), Error> {
        if ptr::eq(self.known, event.0) {
            return Ok(());
        }
        let what = "way to wait for another WGPUDevice";
        Err(Error::Unsupported { device: self.device, what })
    }

    fn synchronize(&self) -> Result<(), Error> {
        let known = self.known;
        // SAFETY: the device is kept; NULL means all submissions.
        // Its result is whether the queue is empty now. Where another thread has submitted work
        // meanwhile it is not, and what was submitted before the call is done all the same.
        unsafe { (known.calls.device_poll)(known.device(), 1, ptr::null()) };
        Ok(())
    }
}

/// A place in the queue of a device.
#[derive(Clone, Copy, Debug)]
pub struct WebGpuEvent(&'static Known);

// SAFETY: 1. There is nothing to free.
unsafe impl Event for WebGpuEvent {}
