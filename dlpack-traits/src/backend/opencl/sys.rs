//! The functions of OpenCL: [`Calls`].

#![expect(clippy::too_many_arguments, reason = "as many as OpenCL wants")]

use core::ffi::c_void;
use core::mem::MaybeUninit;
use core::ptr::NonNull;

use crate::backend::library::{Object, Ref, calls, kinds};
use crate::device::Device;
use crate::error::Error;

/// An owned reference to an object of OpenCL.
pub(super) type OpenClObject<K> = Object<Calls, K, i32>;

kinds! { Context Queue Memory Event }

calls! {
    /// The functions of OpenCL 1.2 that this crate calls.
    extern "system" Calls {
        safe {
            code flush(queue: &Queue): "clFlush";
            code finish(queue: &Queue): "clFinish";
        }
        unsafe {
            code platforms(room: u32, platforms: *mut Ref, count: *mut u32): "clGetPlatformIDs";
            code devices(
                platform: Ref, kind: u64, room: u32, devices: *mut Ref, count: *mut u32
            ): "clGetDeviceIDs";
            code device_info(
                of: Ref, what: u32, room: usize, answer: *mut c_void, size: *mut usize
            ): "clGetDeviceInfo";
            code queue_info(
                of: Ref, what: u32, room: usize, answer: *mut c_void, size: *mut usize
            ): "clGetCommandQueueInfo";
            code memory_info(
                of: Ref, what: u32, room: usize, answer: *mut c_void, size: *mut usize
            ): "clGetMemObjectInfo";
            code retain_queue(queue: Ref): "clRetainCommandQueue";
            value release_queue(queue: Ref) -> i32: "clReleaseCommandQueue";
            code retain_memory(memory: Ref): "clRetainMemObject";
            value release_memory(memory: Ref) -> i32: "clReleaseMemObject";
            code retain_context(context: Ref): "clRetainContext";
            value release_context(context: Ref) -> i32: "clReleaseContext";
            value release_event(event: Ref) -> i32: "clReleaseEvent";
            code marker(
                queue: &Queue, count: u32, events: *const Ref, event: *mut Ref
            ): "clEnqueueMarkerWithWaitList";
            code barrier(
                queue: &Queue, count: u32, events: Option<&&Event>,
                event: *mut Ref
            ): "clEnqueueBarrierWithWaitList";
            code fill(
                queue: &Queue, memory: &Memory, pattern: *const c_void,
                pattern_size: usize, offset: usize, size: usize, count: u32, events: *const Ref,
                event: *mut Ref
            ): "clEnqueueFillBuffer";
            code read(
                queue: &Queue, memory: Ref, blocking: u32, offset: usize, size: usize,
                to: *mut c_void, count: u32, events: *const Ref, event: *mut Ref
            ): "clEnqueueReadBuffer";
            code write(
                queue: &Queue, memory: Ref, blocking: u32, offset: usize, size: usize,
                from: *const c_void, count: u32, events: *const Ref, event: *mut Ref
            ): "clEnqueueWriteBuffer";
            code copy(
                queue: &Queue, from: Ref, to: Ref, from_offset: usize,
                to_offset: usize, size: usize, count: u32, events: *const Ref, event: *mut Ref
            ): "clEnqueueCopyBuffer";
            code wait_for_events(count: u32, events: &&Event): "clWaitForEvents";
            coded create_context(
                properties: *const isize, count: u32, devices: *const Ref, notify: *const c_void,
                data: *const c_void
            ) -> Context: "clCreateContext" => release_context;
            coded create_queue(context: &Context, device_id: Ref, properties: u64)
                -> Queue: "clCreateCommandQueue" => release_queue;
            coded create_memory(
                context: &Context, flags: u64, size: usize, host: *const c_void
            ) -> Memory: "clCreateBuffer" => release_memory;
        }
    }
}

/// A function that queries information about an object.
type Ask = unsafe fn(&Calls, Device, Ref, u32, usize, *mut c_void, *mut usize) -> Result<(), Error>;

/// A function that adds a reference to an object.
type Retain = unsafe fn(&Calls, Device, Ref) -> Result<(), Error>;

/// A function that releases a reference.
type Release = unsafe fn(&Calls, Ref) -> i32;

impl Calls {
    /// Queries a value of a known size.
    ///
    /// # Safety
    ///
    /// 1. `T` is the documented type of the result for `what`, which `ask` can
    ///    query about `of`. All its bits may be zero.
    pub(super) unsafe fn ask<T>(
        &self,
        device: Device,
        ask: Ask,
        of: Ref,
        what: u32,
    ) -> Result<T, Error> {
        let mut answer = MaybeUninit::<T>::zeroed();
        let (room, size) = (size_of::<T>(), core::ptr::null_mut());
        // SAFETY: 1. By our caller's 1, `answer` is a place for the result; its
        // size is not queried.
        unsafe { ask(self, device, of, what, room, answer.as_mut_ptr().cast(), size) }?;
        // SAFETY: the call wrote it, and by our caller's 1 zeros were a value
        // before, too.
        Ok(unsafe { answer.assume_init() })
    }

    /// Adds a reference to an object, and owns it.
    ///
    /// # Safety
    ///
    /// 1. `raw` is an object that is alive, of the kind `K`, and of `retain` and `release`.
    pub(super) unsafe fn retained<K>(
        &'static self,
        device: Device,
        raw: NonNull<c_void>,
        retain: Retain,
        release: Release,
    ) -> Result<OpenClObject<K>, Error> {
        // SAFETY: 1. By our caller's 1.
        unsafe { retain(self, device, raw.as_ptr()) }?;
        // SAFETY: 1. It was just retained.
        Ok(unsafe { OpenClObject::new(self, raw, release) })
    }
}
