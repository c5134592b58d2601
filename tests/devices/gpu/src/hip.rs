//! The functions of the HIP runtime that the tests call directly.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::OnceLock;

use libloading::Library;

use crate::driver::{HostFunction, functions, library};

functions! {
    HipFunctions {
        device_count: hipGetDeviceCount(*mut c_int);
        device_get: hipGetDevice(*mut c_int);
        device_set: hipSetDevice(c_int);
        synchronize: hipDeviceSynchronize();
        allocate: hipMalloc(*mut usize, usize);
        free: hipFree(usize);
        copy_in_order: hipMemcpyAsync(usize, usize, usize, c_uint, usize);
        fill_in_order: hipMemsetD32Async(usize, c_int, usize, usize);
        stream_create: hipStreamCreateWithFlags(*mut usize, c_uint);
        stream_destroy: hipStreamDestroy(usize);
        stream_synchronize: hipStreamSynchronize(usize);
        stream_query: hipStreamQuery(usize);
        launch_host: hipLaunchHostFunc(usize, Option<HostFunction>, *mut c_void);
    }
}

/// The runtime; `None` without one.
pub fn hip() -> Option<&'static (&'static Library, HipFunctions)> {
    static HIP: OnceLock<Option<(&'static Library, HipFunctions)>> = OnceLock::new();
    HIP.get_or_init(|| {
        let names = ["libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"];
        let library = names.into_iter().find_map(library)?;
        Some((library, HipFunctions::load(library).ok()?))
    })
    .as_ref()
}
