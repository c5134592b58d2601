//! The functions that CUDA and ROCm have in common: [`Calls`].

use core::ffi::{c_int, c_uint, c_void};

use libloading::Library;

use crate::backend::library::function;
use crate::device::Device;
use crate::error::Error;

/// Defines a table of C functions that return an error code, and a method for each that
/// converts the code into an `Error`. The functions under `safe` return an error for invalid
/// arguments, and write their results to references.
macro_rules! calls {
    (
        $(#[$doc:meta])*
        $table:ident {
            safe {
                $($safe:ident($($safe_argument:ident: $safe_type:ty),*): $($safe_symbol:literal)|+;)*
            }
            $($method:ident($($argument:ident: $type:ty),*): $($symbol:literal)|+;)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub(super) struct $table {
            $($safe: (
                &'static str, unsafe extern "C" fn($($safe_type),*) -> core::ffi::c_int
            ),)*
            $($method: (&'static str, unsafe extern "C" fn($($type),*) -> core::ffi::c_int),)*
        }

        impl $table {
            /// Looks up all functions. `vendor` is the index of the vendor's names.
            ///
            /// # Safety
            ///
            /// 1. The library is the vendor's, and stays loaded as long as the table.
            pub(super) unsafe fn load(
                library: &Library,
                device: Device,
                vendor: usize,
            ) -> Result<Self, Error> {
                let name = |names: &[&'static str]| names.get(vendor).copied().unwrap_or_default();
                Ok(Self {
                    $($safe: {
                        let name = name(&[$($safe_symbol),+]);
                        // SAFETY: 1. The type is that in the vendor's header, except that
                        // pointers to results are written as references. 2. By our caller's 1.
                        (name, unsafe { function(library, device, name) }?)
                    },)*
                    $($method: {
                        let name = name(&[$($symbol),+]);
                        // SAFETY: 1. The type is that in the vendor's header, except that
                        // pointers to structs are written as pointers to `c_void`. 2. By
                        // our caller's 1.
                        (name, unsafe { function(library, device, name) }?)
                    },)*
                })
            }

            $(
                pub(super) fn $safe(
                    &self,
                    device: Device,
                    $($safe_argument: $safe_type),*
                ) -> Result<(), Error> {
                    let (call, function) = self.$safe;
                    // SAFETY: the vendor documents that wrong arguments are errors, and
                    // references are places for the results.
                    let code = unsafe { function($($safe_argument),*) };
                    if code == 0 { Ok(()) } else { Err(Error::Device { device, call, code }) }
                }
            )*

            $(
                /// # Safety
                ///
                /// 1. The arguments are what the vendor documents for the function.
                pub(super) unsafe fn $method(
                    &self,
                    device: Device,
                    $($argument: $type),*
                ) -> Result<(), Error> {
                    let (call, function) = self.$method;
                    // SAFETY: by our caller's 1.
                    let code = unsafe { function($($argument),*) };
                    if code == 0 { Ok(()) } else { Err(Error::Device { device, call, code }) }
                }
            )*
        }
    };
}

pub(super) use calls;

calls! {
    /// The functions that both vendors have, with the same arguments.
    Calls {
        safe {
            initialize(flags: c_uint): "cuInit" | "hipInit";
            device_count(count: &mut c_int): "cuDeviceGetCount" | "hipGetDeviceCount";
            synchronize_device(): "cuCtxSynchronize" | "hipDeviceSynchronize";
            event_create(event: &mut *mut c_void, flags: c_uint):
                "cuEventCreate" | "hipEventCreateWithFlags";
            exchange_capture_mode(mode: &mut c_uint):
                "cuThreadExchangeStreamCaptureMode" | "hipThreadExchangeStreamCaptureMode";
        }
        event_destroy(event: *mut c_void): "cuEventDestroy_v2" | "hipEventDestroy";
        event_record(event: *mut c_void, stream: *mut c_void):
            "cuEventRecord" | "hipEventRecord";
        stream_wait(stream: *mut c_void, event: *mut c_void, flags: c_uint):
            "cuStreamWaitEvent" | "hipStreamWaitEvent";
        stream_synchronize(stream: *mut c_void): "cuStreamSynchronize" | "hipStreamSynchronize";
        stream_is_capturing(stream: *mut c_void, status: *mut c_uint):
            "cuStreamIsCapturing" | "hipStreamIsCapturing";
        allocate_in_order(data: *mut *mut c_void, bytes: usize, stream: *mut c_void):
            "cuMemAllocAsync" | "hipMallocAsync";
        allocate(data: *mut *mut c_void, bytes: usize): "cuMemAlloc_v2" | "hipMalloc";
        allocate_managed(data: *mut *mut c_void, bytes: usize, flags: c_uint):
            "cuMemAllocManaged" | "hipMallocManaged";
        allocate_pinned(data: *mut *mut c_void, bytes: usize, flags: c_uint):
            "cuMemHostAlloc" | "hipHostMalloc";
        free_in_order(data: *mut c_void, stream: *mut c_void):
            "cuMemFreeAsync" | "hipFreeAsync";
        free(data: *mut c_void): "cuMemFree_v2" | "hipFree";
        free_pinned(data: *mut c_void): "cuMemFreeHost" | "hipHostFree";
        fill_in_order(data: *mut c_void, byte: u8, count: usize, stream: *mut c_void):
            "cuMemsetD8Async" | "hipMemsetD8Async";
        copy_to_device(to: *mut c_void, from: *mut c_void, bytes: usize, stream: *mut c_void):
            "cuMemcpyHtoDAsync_v2" | "hipMemcpyHtoDAsync";
        copy_to_host(to: *mut c_void, from: *mut c_void, bytes: usize, stream: *mut c_void):
            "cuMemcpyDtoHAsync_v2" | "hipMemcpyDtoHAsync";
        copy_on_device(to: *mut c_void, from: *mut c_void, bytes: usize, stream: *mut c_void):
            "cuMemcpyDtoDAsync_v2" | "hipMemcpyDtoDAsync";
    }
}
