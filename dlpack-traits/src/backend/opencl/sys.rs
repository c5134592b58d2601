//! The functions of OpenCL: [`Calls`].

#![expect(clippy::too_many_arguments, reason = "as many as OpenCL wants")]

use core::ffi::c_void;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ptr::NonNull;

use crate::backend::library::{Null, Object, Ref, calls, kinds};
use crate::device::Device;
use crate::error::Error;

/// An owned reference to an object of OpenCL.
pub(super) type OpenClObject<K> = Object<Calls, K, i32>;

kinds! { DeviceId Context Queue Memory Event }

calls! {
    /// The functions of OpenCL 1.2 that this crate calls.
    extern "system" Calls {
        unsafe {
            code platforms(room: u32, platforms: *mut Ref, count: *mut u32): "clGetPlatformIDs";
            code devices(platform: Ref, kind: u64, room: u32, devices: *mut Ref, count: *mut u32):
                "clGetDeviceIDs";
            code device_info(
                of: &DeviceId, what: u32, room: usize, answer: *mut c_void, size: *mut usize
            ): "clGetDeviceInfo";
            code queue_info(
                of: &Queue, what: u32, room: usize, answer: *mut c_void, size: *mut usize
            ): "clGetCommandQueueInfo";
            code memory_info(
                of: &Memory, what: u32, room: usize, answer: *mut c_void, size: *mut usize
            ): "clGetMemObjectInfo";
            value release_queue(queue: Ref) -> i32: "clReleaseCommandQueue";
            value release_memory(memory: Ref) -> i32: "clReleaseMemObject";
            value release_context(context: Ref) -> i32: "clReleaseContext";
            value release_event(event: Ref) -> i32: "clReleaseEvent";
            code barrier(queue: &Queue, count: u32, events: Option<&&Event>, event: *mut Ref):
                "clEnqueueBarrierWithWaitList";
            code fill(
                queue: &Queue, memory: &Memory, pattern: *const c_void, pattern_size: usize,
                offset: usize, size: usize, count: u32, events: *const Ref, event: *mut Ref
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
                queue: &Queue, from: Ref, to: Ref, from_offset: usize, to_offset: usize,
                size: usize, count: u32, events: *const Ref, event: *mut Ref
            ): "clEnqueueCopyBuffer";
            code wait_for_events(count: u32, events: &&Event): "clWaitForEvents";
            coded create_context(
                properties: Null, count: u32, devices: &&DeviceId, notify: Null, data: Null
            ) -> Context: "clCreateContext" => release_context;
        }
        safe {
            code flush(queue: &Queue): "clFlush";
            code finish(queue: &Queue): "clFinish";
            code retain_queue(queue: &Queue): "clRetainCommandQueue";
            code retain_memory(memory: &Memory): "clRetainMemObject";
            code retain_context(context: &Context): "clRetainContext";
            code marker(queue: &Queue, count: u32, events: Null, event: &mut Ref):
                "clEnqueueMarkerWithWaitList";
            coded create_queue(context: &Context, device_id: &DeviceId, properties: u64) -> Queue:
                "clCreateCommandQueue" => release_queue;
            coded create_memory(context: &Context, flags: u64, size: usize, host: Null) -> Memory:
                "clCreateBuffer" => release_memory;
        }
    }
}

/// A function that queries information about an object.
type Ask<K> =
    unsafe fn(&Calls, Device, &K, u32, usize, *mut c_void, *mut usize) -> Result<(), Error>;

/// Information about objects of the kind `K`. An object, `*const T`, lives as long as the one that
/// refers to it.
///
/// Invariant: `T` is the documented type of the result for `what`, which `ask` can query. All its
/// bits may be zero.
pub(super) struct Info<K, T> {
    ask: Ask<K>,
    what: u32,
    answer: PhantomData<T>,
}

const fn info<K, T>(ask: Ask<K>, what: u32) -> Info<K, T> {
    Info { ask, what, answer: PhantomData }
}

/// `CL_DEVICE_PARENT_DEVICE`.
pub(super) const PARENT: Info<DeviceId, *const DeviceId> = info(Calls::device_info, 0x1042);
/// `CL_QUEUE_CONTEXT`, `CL_QUEUE_DEVICE`, `CL_QUEUE_PROPERTIES`.
pub(super) const CONTEXT: Info<Queue, *const Context> = info(Calls::queue_info, 0x1090);
pub(super) const QUEUE_DEVICE: Info<Queue, *const DeviceId> = info(Calls::queue_info, 0x1091);
pub(super) const PROPERTIES: Info<Queue, u64> = info(Calls::queue_info, 0x1093);
/// `CL_MEM_TYPE`, `CL_MEM_SIZE`, `CL_MEM_CONTEXT`.
pub(super) const MEMORY_TYPE: Info<Memory, u32> = info(Calls::memory_info, 0x1100);
pub(super) const MEMORY_SIZE: Info<Memory, usize> = info(Calls::memory_info, 0x1102);
pub(super) const MEMORY_CONTEXT: Info<Memory, *const Context> = info(Calls::memory_info, 0x1106);

/// The functions that add a reference to an object, and release one.
type Count<K> = (fn(&Calls, Device, &K) -> Result<(), Error>, unsafe fn(&Calls, Ref) -> i32);

/// A kind of objects with a reference count.
pub(super) trait Counted: Sized {
    const COUNT: Count<Self>;
}

impl Counted for Queue {
    const COUNT: Count<Self> = (Calls::retain_queue, Calls::release_queue);
}

impl Counted for Memory {
    const COUNT: Count<Self> = (Calls::retain_memory, Calls::release_memory);
}

impl Counted for Context {
    const COUNT: Count<Self> = (Calls::retain_context, Calls::release_context);
}

impl Calls {
    /// Queries a value.
    pub(super) fn ask<K, T>(
        &self,
        device: Device,
        of: &K,
        Info { ask, what, .. }: Info<K, T>,
    ) -> Result<T, Error> {
        let mut answer = MaybeUninit::<T>::zeroed();
        let (room, size) = (size_of::<T>(), core::ptr::null_mut());
        // SAFETY: 1. By the invariant of `Info`, `answer` is a place for the result; its size is not
        // queried.
        unsafe { ask(self, device, of, what, room, answer.as_mut_ptr().cast(), size) }?;
        // SAFETY: the call wrote it, and by the invariant zeros were a value before, too.
        Ok(unsafe { answer.assume_init() })
    }

    /// Queries an object; `None` for NULL.
    pub(super) fn object<'a, K, T>(
        &self,
        device: Device,
        of: &'a K,
        info: Info<K, *const T>,
    ) -> Result<Option<&'a T>, Error> {
        let object = self.ask(device, of, info)?;
        // SAFETY: by the invariant of `Info` it is NULL, or an object that lives as long as `of`.
        Ok(unsafe { object.as_ref() })
    }

    /// Adds a reference to an object, and owns it.
    pub(super) fn retained<K: Counted>(
        &'static self,
        device: Device,
        object: &K,
    ) -> Result<OpenClObject<K>, Error> {
        let (retain, release) = K::COUNT;
        retain(self, device, object)?;
        // SAFETY: 1. It was just retained, and `release` is the function for this kind.
        Ok(unsafe { OpenClObject::new(self, NonNull::from(object).cast(), release) })
    }
}
