//! The runtime and its devices.

use std::ffi::{c_char, c_int, c_uint};

use super::{CURRENT, call};
use crate::boundary::{Out, code};
use crate::ops::stream::synchronize_device;
use crate::state;
use crate::status::Status;

/// ROCm 6.0.
const VERSION: c_int = 60_000_000;

#[unsafe(no_mangle)]
extern "C" fn hipInit(_flags: c_uint) -> c_int {
    call("hipInit", |_| Ok(()))
}

#[unsafe(no_mangle)]
extern "C" fn hipRuntimeGetVersion(version: Out<c_int>) -> c_int {
    code(version.put(VERSION))
}

#[unsafe(no_mangle)]
extern "C" fn hipGetErrorName(error: c_int) -> *const c_char {
    Status(error).name().unwrap_or(c"hipErrorUnknown").as_ptr()
}

#[unsafe(no_mangle)]
extern "C" fn hipDrvGetErrorString(error: c_int, text: Out<*const c_char>) -> c_int {
    let name = Status(error).name().ok_or(Status::INVALID_VALUE);
    code(name.and_then(|name| text.put(name.as_ptr())))
}

#[unsafe(no_mangle)]
extern "C" fn hipGetDeviceCount(count: Out<c_int>) -> c_int {
    call("hipGetDeviceCount", |_| {
        let devices = state::lock().devices.len();
        count.put(c_int::try_from(devices).unwrap_or(c_int::MAX))
    })
}

#[unsafe(no_mangle)]
extern "C" fn hipGetDevice(device: Out<c_int>) -> c_int {
    call("hipGetDevice", |current| device.put(c_int::try_from(current).unwrap_or(c_int::MAX)))
}

#[unsafe(no_mangle)]
extern "C" fn hipSetDevice(device: c_int) -> c_int {
    call("hipSetDevice", |_| {
        let ordinal = usize::try_from(device).map_err(|_| Status::INVALID_DEVICE)?;
        if ordinal >= state::lock().devices.len() {
            return Err(Status::INVALID_DEVICE);
        }
        CURRENT.set(ordinal);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn hipDeviceSynchronize() -> c_int {
    call("hipDeviceSynchronize", synchronize_device)
}
