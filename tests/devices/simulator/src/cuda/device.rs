//! The driver, its errors, and its devices.

use std::ffi::{CStr, c_char, c_int, c_uint};

use crate::boundary::{Out, call, code};
use crate::memory::CAPACITY;
use crate::state;
use crate::status::Status;

/// CUDA 12.0.
const VERSION: c_int = 12_000;
const NAME: &[u8] = b"Simulated GPU (no hardware)\0";

#[unsafe(no_mangle)]
extern "C" fn cuInit(flags: c_uint) -> c_int {
    let mut state = state::lock();
    if let Err(status) = state.faults.enter("cuInit") {
        return status.0;
    }
    if state.devices.is_empty() {
        return Status::NO_DEVICE.0;
    }
    if flags != 0 {
        return Status::INVALID_VALUE.0;
    }
    state.initialized = true;
    0
}

#[unsafe(no_mangle)]
extern "C" fn cuDriverGetVersion(version: Out<c_int>) -> c_int {
    code(version.put(VERSION))
}

#[unsafe(no_mangle)]
extern "C" fn cuGetErrorName(error: c_int, name: Out<*const c_char>) -> c_int {
    code(Status(error).name().ok_or(Status::INVALID_VALUE).and_then(|text| name.put(text.as_ptr())))
}

#[unsafe(no_mangle)]
extern "C" fn cuGetErrorString(error: c_int, text: Out<*const c_char>) -> c_int {
    cuGetErrorName(error, text)
}

/// The handle of the first device; the next ones follow. No handle is an ordinal.
const FIRST: c_int = 0x0DE7;

/// The ordinal of a device that exists.
pub(super) fn ordinal(device: c_int) -> Result<usize, Status> {
    number(device.checked_sub(FIRST).ok_or(Status::INVALID_DEVICE)?)
}

/// An ordinal that exists.
fn number(ordinal: c_int) -> Result<usize, Status> {
    let ordinal = usize::try_from(ordinal).map_err(|_| Status::INVALID_DEVICE)?;
    if ordinal < state::lock().devices.len() { Ok(ordinal) } else { Err(Status::INVALID_DEVICE) }
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceGetCount(count: Out<c_int>) -> c_int {
    call("cuDeviceGetCount", || {
        let devices = state::lock().devices.len();
        count.put(c_int::try_from(devices).unwrap_or(c_int::MAX))
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceGet(device: Out<c_int>, ordinal: c_int) -> c_int {
    call("cuDeviceGet", || {
        number(ordinal)?;
        device.put(handle(ordinal))
    })
}

/// The handle of a device that exists.
pub(super) fn handle(ordinal: c_int) -> c_int {
    FIRST.saturating_add(ordinal)
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceGetName(name: *mut c_char, len: c_int, device: c_int) -> c_int {
    call("cuDeviceGetName", || {
        ordinal(device)?;
        let room = usize::try_from(len).map_err(|_| Status::INVALID_VALUE)?;
        if name.is_null() || room < NAME.len() {
            return Err(Status::INVALID_VALUE);
        }
        // SAFETY: `name` has room for `len` bytes, by the function's contract.
        unsafe { name.cast::<u8>().copy_from_nonoverlapping(NAME.as_ptr(), NAME.len()) };
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceGetUuid_v2(uuid: Out<[u8; 16]>, device: c_int) -> c_int {
    call("cuDeviceGetUuid_v2", || {
        let number = ordinal(device)?;
        let mut bytes = *b"simulated gpu  \0";
        bytes[15] = u8::try_from(number).unwrap_or(u8::MAX);
        uuid.put(bytes)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceTotalMem_v2(bytes: Out<usize>, device: c_int) -> c_int {
    call("cuDeviceTotalMem_v2", || {
        ordinal(device)?;
        bytes.put(CAPACITY)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceGetAttribute(value: Out<c_int>, attribute: c_int, device: c_int) -> c_int {
    call("cuDeviceGetAttribute", || {
        let ordinal = ordinal(device)?;
        value.put(match attribute {
            // Threads per block.
            1 | 2 => 1024,
            // Compute capability, major.
            75 => 8,
            // Unified addressing; managed memory, concurrent too.
            41 | 83 | 89 => 1,
            // Memory pools.
            115 => c_int::from(state::lock().devices[ordinal].has_pools),
            // Nothing else is modelled.
            _ => 0,
        })
    })
}

/// A C string that a program passed.
///
/// # Safety
///
/// 1. `text` is NULL or a C string that lives for `'a`.
pub(super) unsafe fn text<'a>(text: *const c_char) -> Result<&'a CStr, Status> {
    if text.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    // SAFETY: (1).
    Ok(unsafe { CStr::from_ptr(text) })
}
