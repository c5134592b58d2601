//! OpenCL as another library uses it: [`Cl`].

use std::ffi::c_void;
use std::path::Path;
use std::ptr;
use std::sync::OnceLock;

use dlpack_traits::backend::{OpenCl, StreamHandle, WorkStream};
use dlpack_traits::{Device, ffi};
use libloading::Library;

use crate::{functions, skipped};

/// A handle of OpenCL. Tests leak their handles.
pub type Ref = *mut c_void;

functions! {
    Functions {
        clGetPlatformIDs(u32, *mut Ref, *mut u32) -> i32;
        clGetDeviceIDs(Ref, u64, u32, *mut Ref, *mut u32) -> i32;
        clCreateContext(*const isize, u32, *const Ref, *const c_void, Ref, *mut i32) -> Ref;
        clCreateCommandQueue(Ref, Ref, u64, *mut i32) -> Ref;
        clCreateBuffer(Ref, u64, usize, *const c_void, *mut i32) -> Ref;
        clCreateSubDevices(Ref, *const isize, u32, *mut Ref, *mut u32) -> i32;
        clCreateUserEvent(Ref, *mut i32) -> Ref;
        clSetUserEventStatus(Ref, i32) -> i32;
        clEnqueueFillBuffer(
            Ref, Ref, *const c_void, usize, usize, usize, u32, *const Ref, *mut Ref
        ) -> i32;
        clEnqueueReadBuffer(
            Ref, Ref, u32, usize, usize, *mut c_void, u32, *const Ref, *mut Ref
        ) -> i32;
        clEnqueueBarrierWithWaitList(Ref, u32, *const Ref, *mut Ref) -> i32;
        clGetMemObjectInfo(Ref, u32, usize, *mut c_void, *mut usize) -> i32;
        clGetCommandQueueInfo(Ref, u32, usize, *mut c_void, *mut usize) -> i32;
        clSetMemObjectDestructorCallback(
            Ref, unsafe extern "C" fn(Ref, *mut c_void), *mut c_void
        ) -> i32;
        clReleaseMemObject(Ref) -> i32;
        clReleaseCommandQueue(Ref) -> i32;
        clFlush(Ref) -> i32;
        clFinish(Ref) -> i32;
    }
}

/// The file with OpenCL's loader.
const FILE: &str = "DLPACK_OPENCL";

/// OpenCL, and a device of it.
#[derive(Debug)]
pub struct Cl {
    /// The functions.
    pub calls: &'static Functions,
    /// Its handle.
    pub raw: Ref,
    /// The device, as it is exchanged.
    pub device: Device,
    /// A context of the test's.
    pub context: Ref,
}

/// Asserts that a call succeeded.
#[track_caller]
pub fn check(code: i32) {
    assert_eq!(code, 0, "an error code of OpenCL");
}

/// Returns each device of OpenCL; none, with a message on standard error, where OpenCL is
/// missing.
pub fn devices() -> Vec<Cl> {
    static CALLS: OnceLock<Result<Functions, String>> = OnceLock::new();
    let calls = match CALLS.get_or_init(load) {
        Ok(calls) => calls,
        Err(reason) => return skipped("opencl", reason).unwrap_or_default(),
    };
    let mut found = Vec::new();
    let (mut platforms, mut count) = ([ptr::null_mut(); 8], 0);
    // SAFETY: room for eight, and a place for the count.
    check(unsafe { (calls.clGetPlatformIDs)(8, platforms.as_mut_ptr(), &raw mut count) });
    for platform in &platforms[..count as usize] {
        let (mut ids, mut count) = ([ptr::null_mut(); 8], 0);
        // SAFETY: as above.
        check(unsafe {
            (calls.clGetDeviceIDs)(*platform, 0xFFFF_FFFF, 8, ids.as_mut_ptr(), &raw mut count)
        });
        found.extend_from_slice(&ids[..count as usize]);
    }
    if found.is_empty() {
        return skipped("opencl", "OpenCL has no devices").unwrap_or_default();
    }
    let named = |(index, raw): (usize, Ref)| {
        let device = Device::new(ffi::kDLOpenCL, i32::try_from(index).expect("few devices"));
        Cl { calls, raw, device, context: context(calls, raw) }
    };
    found.into_iter().enumerate().map(named).collect()
}

fn load() -> Result<Functions, String> {
    let file = std::env::var_os(FILE).ok_or(format!("{FILE} names no library"))?;
    // SAFETY: 1. The variable names OpenCL's loader.
    unsafe { OpenCl::load(Path::new(&file)) }.map_err(|error| error.to_string())?;
    // SAFETY: it is loaded.
    let library = unsafe { Library::new(&file) }.map_err(|error| error.to_string())?;
    Functions::load(Box::leak(Box::new(library))).map_err(|error| error.to_string())
}

fn context(calls: &Functions, device: Ref) -> Ref {
    let (mut code, nothing) = (0, ptr::null());
    // SAFETY: one device.
    let context = unsafe {
        (calls.clCreateContext)(
            ptr::null(),
            1,
            &raw const device,
            nothing,
            ptr::null_mut(),
            &raw mut code,
        )
    };
    check(code);
    context
}

impl Cl {
    /// One more context.
    pub fn fresh_context(&self) -> Ref {
        context(self.calls, self.raw)
    }

    /// A new queue.
    pub fn queue_in(&self, context: Ref, in_order: bool) -> Ref {
        let mut code = 0;
        // SAFETY: a device of the context.
        let queue = unsafe {
            (self.calls.clCreateCommandQueue)(
                context,
                self.raw,
                u64::from(!in_order),
                &raw mut code,
            )
        };
        check(code);
        queue
    }

    /// A new queue of the test's context.
    pub fn queue(&self, in_order: bool) -> Ref {
        self.queue_in(self.context, in_order)
    }

    /// A queue as a stream of the crate.
    pub fn stream(&self, queue: Ref) -> WorkStream<OpenCl> {
        // SAFETY: 1. A queue of the test.
        unsafe { OpenCl::work_stream(self.device, StreamHandle::from_ptr(queue)) }
            .expect("a queue of the device")
    }

    /// A new buffer of the test's context.
    pub fn buffer(&self, byte_len: usize) -> Ref {
        let mut code = 0;
        // SAFETY: a context, for reading and writing.
        let buffer = unsafe {
            (self.calls.clCreateBuffer)(self.context, 1, byte_len, ptr::null(), &raw mut code)
        };
        check(code);
        buffer
    }

    /// Enqueues bytes.
    pub fn fill(&self, queue: Ref, buffer: Ref, byte: u8, byte_len: usize) {
        let (pattern, nothing) = (&raw const byte, ptr::null());
        // SAFETY: a buffer of as many bytes.
        check(unsafe {
            (self.calls.clEnqueueFillBuffer)(
                queue,
                buffer,
                pattern.cast(),
                1,
                0,
                byte_len,
                0,
                nothing,
                ptr::null_mut(),
            )
        });
    }

    /// Enqueues bytes, which only this work has to wait for: the gate does not keep
    /// the rest of a queue without an order.
    pub fn fill_after_gate(&self, queue: Ref, buffer: Ref, byte: u8, byte_len: usize) -> Ref {
        let (pattern, gate) = (&raw const byte, self.user_event());
        // SAFETY: a buffer of as many bytes, and one event.
        check(unsafe {
            (self.calls.clEnqueueFillBuffer)(
                queue,
                buffer,
                pattern.cast(),
                1,
                0,
                byte_len,
                1,
                &raw const gate,
                ptr::null_mut(),
            )
        });
        // SAFETY: a queue.
        check(unsafe { (self.calls.clFlush)(queue) });
        gate
    }

    /// Enqueues the copy of bytes to the host, which stay where they are until the
    /// queue is finished.
    pub fn read(&self, queue: Ref, buffer: Ref, to: &mut [u8]) {
        let nothing = ptr::null();
        // SAFETY: a buffer of as many bytes.
        check(unsafe {
            (self.calls.clEnqueueReadBuffer)(
                queue,
                buffer,
                0,
                0,
                to.len(),
                to.as_mut_ptr().cast(),
                0,
                nothing,
                ptr::null_mut(),
            )
        });
    }

    fn user_event(&self) -> Ref {
        let mut code = 0;
        // SAFETY: a context.
        let event = unsafe { (self.calls.clCreateUserEvent)(self.context, &raw mut code) };
        check(code);
        event
    }

    /// Keeps a queue from going on until [`open`](Self::open).
    pub fn gate(&self, queue: Ref) -> Ref {
        let gate = self.user_event();
        // SAFETY: a queue and an event of the context.
        check(unsafe {
            (self.calls.clEnqueueBarrierWithWaitList)(queue, 1, &raw const gate, ptr::null_mut())
        });
        // SAFETY: a queue.
        check(unsafe { (self.calls.clFlush)(queue) });
        gate
    }

    /// Lets the queue go on.
    pub fn open(&self, gate: Ref) {
        // SAFETY: an event of the user's, that was not set.
        check(unsafe { (self.calls.clSetUserEventStatus)(gate, 0) });
    }

    /// Waits for a queue.
    pub fn finish(&self, queue: Ref) {
        // SAFETY: a queue.
        check(unsafe { (self.calls.clFinish)(queue) });
    }

    /// The context of a queue.
    pub fn context_of(&self, queue: Ref) -> Ref {
        let mut context = ptr::null_mut::<c_void>();
        // SAFETY: a queue, and CL_QUEUE_CONTEXT.
        check(unsafe {
            (self.calls.clGetCommandQueueInfo)(
                queue,
                0x1090,
                size_of::<Ref>(),
                (&raw mut context).cast(),
                ptr::null_mut(),
            )
        });
        context
    }

    /// How many references to a queue there are.
    pub fn queue_references(&self, queue: Ref) -> u32 {
        let mut count = 0_u32;
        // SAFETY: a queue, and CL_QUEUE_REFERENCE_COUNT.
        check(unsafe {
            (self.calls.clGetCommandQueueInfo)(
                queue,
                0x1092,
                4,
                (&raw mut count).cast(),
                ptr::null_mut(),
            )
        });
        count
    }

    /// How many references to a buffer there are.
    pub fn references(&self, buffer: Ref) -> u32 {
        let mut count = 0_u32;
        // SAFETY: a buffer, and CL_MEM_REFERENCE_COUNT.
        check(unsafe {
            (self.calls.clGetMemObjectInfo)(
                buffer,
                0x1105,
                4,
                (&raw mut count).cast(),
                ptr::null_mut(),
            )
        });
        count
    }
}

// SAFETY: OpenCL's functions may be called by any thread.
unsafe impl Send for Cl {}
// SAFETY: as above.
unsafe impl Sync for Cl {}
