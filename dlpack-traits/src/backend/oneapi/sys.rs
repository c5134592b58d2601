//! The functions of DPCTL's C interface, and references to its objects: [`Calls`],
//! [`SyclObject`].

#![expect(ffi_unwind_calls, reason = "an exception that leaves one of them ends the process")]

use core::ffi::{c_int, c_void};
use core::ptr::NonNull;
use std::process::abort;

use libloading::Library;

use crate::backend::library::function;
use crate::device::Device;
use crate::error::Error;
use crate::ffi;

/// A pointer to an object of SYCL.
pub(super) type Ref = *mut c_void;

/// A guard that aborts the process if a C++ exception unwinds through it. Most functions
/// catch exceptions and return NULL. Some do not, but throw nothing as long as they are
/// called in the order that `usm` guarantees.
struct NoException;

impl Drop for NoException {
    fn drop(&mut self) {
        abort();
    }
}

/// Defines the table, and a method for each function: functions that return an object, with
/// the function that deletes it, and plain functions.
macro_rules! calls {
    (
        objects { $($made:ident($($of:ident: $by:ty),*) => $delete:ident;)+ }
        plain { $($symbol:ident($($argument:ident: $type:ty),*) $(-> $answer:ty)?;)+ }
    ) => {
        /// The functions, under their own names.
        #[derive(Debug)]
        #[expect(non_snake_case, reason = "as they are called in C")]
        pub(super) struct Calls {
            $($made: unsafe extern "C-unwind" fn($($by),*) -> Ref,)+
            $($symbol: unsafe extern "C-unwind" fn($($type),*) $(-> $answer)?,)+
        }

        #[expect(non_snake_case, reason = "as they are called in C")]
        impl Calls {
            /// Looks up all functions.
            ///
            /// # Safety
            ///
            /// 1. The library is DPCTL's, and stays loaded as long as the table.
            pub(super) unsafe fn load(library: &Library) -> Result<Self, Error> {
                let device = Device::new(ffi::kDLOneAPI, 0);
                Ok(Self {
                    // SAFETY: 1. The type is that in DPCTL's headers. 2. By our caller's 1.
                    $($made: unsafe { function(library, device, stringify!($made)) }?,)+
                    // SAFETY: 1. The type is that in DPCTL's headers. 2. By our caller's 1.
                    $($symbol: unsafe { function(library, device, stringify!($symbol)) }?,)+
                })
            }

            $(
                /// # Safety
                ///
                /// 1. The arguments are what DPCTL documents for the function.
                pub(super) unsafe fn $made(
                    &'static self,
                    device: Device,
                    $($of: $by),*
                ) -> Result<SyclObject, Error> {
                    let exception = NoException;
                    // SAFETY: by our caller's 1. `exception` stops an unwinding.
                    let raw = unsafe { (self.$made)($($of),*) };
                    core::mem::forget(exception);
                    let object = |raw| SyclObject { raw, delete: Self::$delete, calls: self };
                    // NULL is the only failure, without an error code.
                    let failed = Error::Device { device, call: stringify!($made), code: 0 };
                    NonNull::new(raw).map(object).ok_or(failed)
                }
            )+

            $(
                /// # Safety
                ///
                /// 1. The arguments are what DPCTL documents for the function.
                pub(super) unsafe fn $symbol(&self, $($argument: $type),*) $(-> $answer)? {
                    let exception = NoException;
                    // SAFETY: by our caller's 1. `exception` stops an unwinding.
                    let answer = unsafe { (self.$symbol)($($argument),*) };
                    core::mem::forget(exception);
                    answer
                }
            )+
        }
    };
}

calls! {
    objects {
        DPCTLDeviceMgr_GetDevices(identifier: c_int) => DPCTLDeviceVector_Delete;
        DPCTLDeviceVector_GetAt(devices: Ref, index: usize) => DPCTLDevice_Delete;
        DPCTLDevice_GetPlatform(device: Ref) => DPCTLPlatform_Delete;
        DPCTLDevice_GetParentDevice(device: Ref) => DPCTLDevice_Delete;
        DPCTLPlatform_GetDefaultContext(platform: Ref) => DPCTLContext_Delete;
        DPCTLQueue_Create(context: Ref, device: Ref, handler: Ref, properties: c_int) => DPCTLQueue_Delete;
        DPCTLQueue_Copy(queue: Ref) => DPCTLQueue_Delete;
        DPCTLQueue_GetContext(queue: Ref) => DPCTLContext_Delete;
        DPCTLQueue_GetDevice(queue: Ref) => DPCTLDevice_Delete;
        DPCTLQueue_Memset(queue: Ref, data: Ref, byte: u8, count: usize) => DPCTLEvent_Delete;
        DPCTLQueue_Memcpy(queue: Ref, to: Ref, from: Ref, count: usize) => DPCTLEvent_Delete;
        DPCTLQueue_SubmitBarrier(queue: Ref) => DPCTLEvent_Delete;
        DPCTLQueue_SubmitBarrierForEvents(queue: Ref, events: *const Ref, count: usize) => DPCTLEvent_Delete;
        DPCTLUSM_GetPointerDevice(data: Ref, context: Ref) => DPCTLDevice_Delete;
    }
    plain {
        DPCTLDeviceVector_Size(devices: Ref) -> usize;
        DPCTLDeviceVector_Delete(devices: Ref);
        DPCTLDevice_AreEq(one: Ref, other: Ref) -> bool;
        DPCTLDevice_HasAspect(device: Ref, aspect: c_int) -> bool;
        DPCTLDevice_Delete(device: Ref);
        DPCTLPlatform_Delete(platform: Ref);
        DPCTLContext_AreEq(one: Ref, other: Ref) -> bool;
        DPCTLContext_Delete(context: Ref);
        DPCTLQueue_AreEq(one: Ref, other: Ref) -> bool;
        DPCTLQueue_IsInOrder(queue: Ref) -> bool;
        DPCTLQueue_Wait(queue: Ref);
        DPCTLQueue_Delete(queue: Ref);
        DPCTLEvent_Wait(event: Ref);
        DPCTLEvent_Delete(event: Ref);
        DPCTLaligned_alloc_device(align: usize, count: usize, queue: Ref) -> Ref;
        DPCTLaligned_alloc_shared(align: usize, count: usize, queue: Ref) -> Ref;
        DPCTLaligned_alloc_host(align: usize, count: usize, queue: Ref) -> Ref;
        DPCTLfree_with_context(data: Ref, context: Ref);
        DPCTLUSM_GetPointerType(data: Ref, context: Ref) -> c_int;
    }
}

/// An owned object of SYCL.
#[derive(Debug)]
pub(super) struct SyclObject {
    raw: NonNull<c_void>,
    delete: unsafe fn(&Calls, Ref),
    calls: &'static Calls,
}

// SAFETY: SYCL objects are reference counted handles, which any thread may use and drop.
unsafe impl Send for SyclObject {}
// SAFETY: several threads may call their member functions.
unsafe impl Sync for SyclObject {}

impl SyclObject {
    pub(super) fn raw(&self) -> Ref {
        self.raw.as_ptr()
    }
}

impl Drop for SyclObject {
    fn drop(&mut self) {
        // SAFETY: 1. DPCTL documents that the caller must delete the objects that it
        // returns, by this function; the object is not used afterwards.
        unsafe { (self.delete)(self.calls, self.raw.as_ptr()) }
    }
}
