//! The functions of OpenCL, and references to its objects: [`Calls`],
//! [`OpenClObject`].

use core::ffi::c_void;
use core::mem::MaybeUninit;
use core::ptr::NonNull;

use libloading::Library;

use crate::backend::library::function;
use crate::device::Device;
use crate::error::Error;
use crate::ffi;

/// A handle of OpenCL.
pub(super) type Ref = *mut c_void;

/// Defines the table. `codes` are functions that return an error code; each
/// gets a method that converts the code into an `Error`. `created` are
/// functions that create an object.
macro_rules! calls {
    (
        codes { $($method:ident($($argument:ident: $type:ty),*): $symbol:ident;)+ }
        created { $($create:ident($($of:ident: $by:ty),*): $made:ident, $release:ident;)+ }
    ) => {
        /// The functions of OpenCL 1.2 that this crate calls.
        #[derive(Debug)]
        pub(super) struct Calls {
            $($method: unsafe extern "system" fn($($type),*) -> i32,)+
            $($create: unsafe extern "system" fn($($by,)* *mut i32) -> Ref,)+
        }

        #[expect(clippy::too_many_arguments, reason = "as many as OpenCL wants")]
        impl Calls {
            /// Looks up all functions.
            ///
            /// # Safety
            ///
            /// 1. The library is OpenCL's, and stays loaded as long as the table.
            pub(super) unsafe fn load(library: &Library) -> Result<Self, Error> {
                let device = Device::new(ffi::kDLOpenCL, 0);
                Ok(Self {
                    // SAFETY: 1. The type is that in OpenCL's headers. 2. By
                    // our caller's 1.
                    $($method: unsafe { function(library, device, stringify!($symbol)) }?,)+
                    // SAFETY: 1. The type is that in OpenCL's headers. 2. By
                    // our caller's 1.
                    $($create: unsafe { function(library, device, stringify!($made)) }?,)+
                })
            }

            $(
                /// # Safety
                ///
                /// 1. The arguments are what OpenCL documents for the function.
                pub(super) unsafe fn $method(
                    &self,
                    device: Device,
                    $($argument: $type),*
                ) -> Result<(), Error> {
                    // SAFETY: by our caller's 1.
                    let code = unsafe { (self.$method)($($argument),*) };
                    let call = stringify!($symbol);
                    if code == 0 { Ok(()) } else { Err(Error::Device { device, call, code }) }
                }
            )+

            $(
                /// # Safety
                ///
                /// 1. The arguments are what OpenCL documents for the function.
                pub(super) unsafe fn $create(
                    &'static self,
                    device: Device,
                    $($of: $by),*
                ) -> Result<OpenClObject, Error> {
                    let mut code = 0;
                    // SAFETY: by our caller's 1, and `code` is a place for the
                    // result.
                    let raw = unsafe { (self.$create)($($of,)* &raw mut code) };
                    let object = |raw| OpenClObject { raw, release: Self::$release, calls: self, device };
                    let failed = Error::Device { device, call: stringify!($made), code };
                    NonNull::new(raw).filter(|_| code == 0).map(object).ok_or(failed)
                }
            )+
        }
    };
}

calls! {
    codes {
        platforms(room: u32, platforms: *mut Ref, count: *mut u32): clGetPlatformIDs;
        devices(platform: Ref, kind: u64, room: u32, devices: *mut Ref, count: *mut u32):
            clGetDeviceIDs;
        device_info(of: Ref, what: u32, room: usize, answer: *mut c_void, size: *mut usize):
            clGetDeviceInfo;
        queue_info(of: Ref, what: u32, room: usize, answer: *mut c_void, size: *mut usize):
            clGetCommandQueueInfo;
        memory_info(of: Ref, what: u32, room: usize, answer: *mut c_void, size: *mut usize):
            clGetMemObjectInfo;
        retain_queue(queue: Ref): clRetainCommandQueue;
        release_queue(queue: Ref): clReleaseCommandQueue;
        retain_memory(memory: Ref): clRetainMemObject;
        release_memory(memory: Ref): clReleaseMemObject;
        retain_context(context: Ref): clRetainContext;
        release_context(context: Ref): clReleaseContext;
        release_event(event: Ref): clReleaseEvent;
        marker(queue: Ref, count: u32, events: *const Ref, event: *mut Ref):
            clEnqueueMarkerWithWaitList;
        barrier(queue: Ref, count: u32, events: *const Ref, event: *mut Ref):
            clEnqueueBarrierWithWaitList;
        fill(
            queue: Ref, memory: Ref, pattern: *const c_void, pattern_size: usize, offset: usize,
            size: usize, count: u32, events: *const Ref, event: *mut Ref
        ): clEnqueueFillBuffer;
        read(
            queue: Ref, memory: Ref, blocking: u32, offset: usize, size: usize, to: *mut c_void,
            count: u32, events: *const Ref, event: *mut Ref
        ): clEnqueueReadBuffer;
        write(
            queue: Ref, memory: Ref, blocking: u32, offset: usize, size: usize,
            from: *const c_void, count: u32, events: *const Ref, event: *mut Ref
        ): clEnqueueWriteBuffer;
        copy(
            queue: Ref, from: Ref, to: Ref, from_offset: usize, to_offset: usize, size: usize,
            count: u32, events: *const Ref, event: *mut Ref
        ): clEnqueueCopyBuffer;
        wait_for_events(count: u32, events: *const Ref): clWaitForEvents;
        flush(queue: Ref): clFlush;
        finish(queue: Ref): clFinish;
    }
    created {
        create_context(
            properties: *const isize, count: u32, devices: *const Ref, notify: *const c_void,
            data: *const c_void
        ): clCreateContext, release_context;
        create_queue(context: Ref, device_id: Ref, properties: u64):
            clCreateCommandQueue, release_queue;
        create_memory(context: Ref, flags: u64, size: usize, host: *const c_void):
            clCreateBuffer, release_memory;
    }
}

/// A function that queries information about an object.
type Ask = unsafe fn(&Calls, Device, Ref, u32, usize, *mut c_void, *mut usize) -> Result<(), Error>;

/// A function that releases a reference.
type Release = unsafe fn(&Calls, Device, Ref) -> Result<(), Error>;

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
}

/// An owned reference to an object of OpenCL.
#[derive(Debug)]
pub(super) struct OpenClObject {
    raw: NonNull<c_void>,
    release: Release,
    calls: &'static Calls,
    device: Device,
}

// SAFETY: any thread may call OpenCL's functions.
unsafe impl Send for OpenClObject {}
// SAFETY: several threads may call them at once, except for arguments of
// kernels, which are not used here.
unsafe impl Sync for OpenClObject {}

impl OpenClObject {
    /// Takes ownership of a reference.
    ///
    /// # Safety
    ///
    /// 1. The reference is ours to release, by `release`.
    pub(super) unsafe fn new(
        calls: &'static Calls,
        device: Device,
        raw: NonNull<c_void>,
        release: Release,
    ) -> Self {
        Self { raw, release, calls, device }
    }

    pub(super) fn raw(&self) -> Ref {
        self.raw.as_ptr()
    }

    /// Returns the reference, which the caller must release.
    pub(super) fn into_raw(self) -> NonNull<c_void> {
        core::mem::ManuallyDrop::new(self).raw
    }
}

impl Drop for OpenClObject {
    fn drop(&mut self) {
        // SAFETY: 1. The reference is ours, and not used any more. An error
        // cannot be reported here.
        let _ = unsafe { (self.release)(self.calls, self.device, self.raw.as_ptr()) };
    }
}
