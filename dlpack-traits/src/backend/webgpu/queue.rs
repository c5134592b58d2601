//! The queue of a device: [`WebGpuStream`].

use alloc::sync::Arc;
use core::ffi::c_void;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicU32, Ordering};

use libloading::Library;

use super::sys::{self, Calls, ScopeInfo, StringView};
use crate::backend::reentrant_lock::ReentrantLock;
use crate::backend::{Event, Stream, StreamHandle, device_error};
use crate::device::Device;
use crate::error::Error;

/// `WGPUErrorFilter` for validation errors and for errors of memory. wgpu-native does not
/// support the third kind.
const FILTERS: [u32; 2] = [1, 2];
/// `WGPUErrorType_NoError`.
const NO_ERROR: u32 = 1;
/// `WGPUErrorType_OutOfMemory`.
const OUT_OF_MEMORY: u32 = 3;
/// `WGPUCallbackMode_AllowSpontaneous`.
pub(super) const SPONTANEOUS: u32 = 3;

/// An adopted device.
#[derive(Debug)]
pub(super) struct AdoptedDevice {
    calls: Calls,
    _library: Library,
    device: &'static sys::Device,
    queue: &'static sys::Queue,
    /// The lock of the error scopes, which are one stack for all threads of a device.
    scopes: ReentrantLock,
}

impl AdoptedDevice {
    /// `None` for a device without a queue.
    ///
    /// # Safety
    ///
    /// 1. `device` is a `WGPUDevice` of the library, whose functions are `calls`, and alive.
    pub(super) unsafe fn of(
        library: Library,
        calls: Calls,
        device: NonNull<c_void>,
    ) -> Option<Self> {
        // SAFETY: by our caller's 1, and the reference that is added here is never released.
        let device = unsafe { device.cast::<sys::Device>().as_ref() };
        calls.device_add_ref(device);
        // SAFETY: it is the queue of the device, whose reference is never released.
        let queue = unsafe { calls.device_queue(device).cast::<sys::Queue>().as_ref() }?;
        Some(Self { calls, _library: library, device, queue, scopes: ReentrantLock::default() })
    }

    pub(super) fn calls(&'static self) -> &'static Calls {
        &self.calls
    }

    pub(super) fn device(&self) -> &'static sys::Device {
        self.device
    }

    pub(super) fn queue(&self) -> &'static sys::Queue {
        self.queue
    }

    /// Calls functions inside of error scopes, and returns their errors. Without a scope,
    /// wgpu-native aborts the process on an error.
    ///
    /// The scopes are locked, because an error goes to the scope that was opened last, on
    /// any thread. The lock is re-entrant: `calls` may invoke a callback of the program
    /// that calls this function again, and closes its scopes before it returns.
    pub(super) fn guarded<T>(
        &'static self,
        device: Device,
        call: &'static str,
        byte_len: usize,
        calls: impl FnOnce(&'static Calls) -> T,
    ) -> Result<T, Error> {
        self.scopes.take(|| {
            for filter in FILTERS {
                self.calls.push_scope(self.device, filter);
            }
            let mut outcome = Ok(calls(&self.calls));
            for _ in FILTERS {
                let answer = CallbackStatus::default();
                let (next, second) = (ptr::null(), ptr::null_mut());
                let first = answer.for_callback();
                let info = ScopeInfo { next, mode: SPONTANEOUS, callback: popped, first, second };
                // SAFETY: 1. The device is kept, and wgpu-native calls the callback once,
                // before it returns.
                unsafe { self.calls.pop_scope(self.device, info) };
                outcome = outcome.and_then(|made| match answer.get() {
                    NO_ERROR => Ok(made),
                    OUT_OF_MEMORY => Err(Error::OutOfMemory { bytes: byte_len }),
                    code => Err(device_error(device, call, code.into(), "")),
                });
            }
            outcome
        })
    }
}

unsafe extern "C" fn popped(_: u32, kind: u32, _: StringView, answer: *mut c_void, _: *mut c_void) {
    // SAFETY: 1. `guarded` passed it for this call.
    unsafe { CallbackStatus::give(answer, kind) };
}

/// The number that a callback receives. It is 0 until then, which is not a status of
/// success.
#[derive(Debug, Default)]
pub(super) struct CallbackStatus(Arc<AtomicU32>);

impl CallbackStatus {
    /// The argument for one call of the callback. If the callback is never called, it
    /// leaks.
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
        // SAFETY: by our caller's 1.
        let answer = unsafe { Arc::from_raw(argument.cast::<AtomicU32>().cast_const()) };
        answer.store(number, Ordering::Release);
    }
}

/// The queue of a device.
#[derive(Clone, Copy, Debug)]
pub struct WebGpuStream {
    device: Device,
    known: &'static AdoptedDevice,
}

impl WebGpuStream {
    pub(super) fn new(device: Device, known: &'static AdoptedDevice) -> Self {
        Self { device, known }
    }

    pub(super) fn handle(&self) -> StreamHandle {
        StreamHandle::from_ptr(ptr::from_ref(self.known.queue).cast_mut().cast())
    }

    pub(super) fn device(&self) -> Device {
        self.device
    }

    pub(super) fn known(&self) -> &'static AdoptedDevice {
        self.known
    }
}

// SAFETY: by the WebGPU specification of queues:
// 1 (order): a queue executes its submissions in their order.
// 2 and 3 (`record`, `wait`): a device has one queue, so an event is reached by order; events
// of another device are rejected.
// 4 (only enqueue): neither calls the library.
// 5 (`synchronize`): the poll returns when all work is done that was submitted before it.
// 6 (any thread): there is no current context.
// 7 (clone): it names the same queue.
// 8 (graphs): there are none.
// 9 (`is_same`): the default, with which handles are compared, of a queue that is kept alive.
// 10 (`can_follow`): events of the same device can be waited for; `wait` rejects others.
// 11 (`fence`): submissions have an order already.
unsafe impl Stream for WebGpuStream {
    type Event = WebGpuEvent;

    const IN_ORDER: bool = true;
    const GRAPHS: bool = false;

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
        // NULL means all submissions. The result is whether the queue is empty. It is not if
        // another thread has submitted work meanwhile; the work that was submitted before the call
        // is done in any case.
        known.calls.device_poll(known.device, 1, None);
        Ok(())
    }
}

/// An event, in the queue of a device.
#[derive(Clone, Copy, Debug)]
pub struct WebGpuEvent(&'static AdoptedDevice);

// SAFETY: 1. There is nothing to free.
unsafe impl Event for WebGpuEvent {}
