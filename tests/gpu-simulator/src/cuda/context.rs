//! Primary contexts, and which one is current for a thread.

use std::cell::RefCell;
use std::ffi::{c_int, c_uint};

use super::device::ordinal;
use crate::boundary::{Out, call, release};
use crate::ops::stream::synchronize_device;
use crate::state;
use crate::status::Status;

/// The handle of the primary context of device 0; the next ones follow.
const FIRST: usize = 0x0C7C_0000;

thread_local! {
    /// The contexts that were pushed; the last one is current. NULL is one.
    static PUSHED: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// The device whose context is current for this thread.
pub(super) fn current() -> Result<usize, Status> {
    device_of(PUSHED.with_borrow(|pushed| pushed.last().copied().unwrap_or(0)))
}

/// The device of a context.
fn device_of(context: usize) -> Result<usize, Status> {
    let ordinal = context.checked_sub(FIRST).ok_or(Status::INVALID_CONTEXT)?;
    match state::lock().devices.get(ordinal) {
        Some(device) if device.retained > 0 => Ok(ordinal),
        Some(_) => Err(Status::CONTEXT_IS_DESTROYED),
        None => Err(Status::INVALID_CONTEXT),
    }
}

/// The context of a device.
pub(super) fn context_of(ordinal: usize) -> usize {
    FIRST + ordinal
}

#[unsafe(no_mangle)]
extern "C" fn cuDevicePrimaryCtxRetain(context: Out<usize>, device: c_int) -> c_int {
    call("cuDevicePrimaryCtxRetain", || {
        let ordinal = ordinal(device)?;
        state::lock().devices[ordinal].retained += 1;
        context.put(context_of(ordinal))
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuDevicePrimaryCtxRelease_v2(device: c_int) -> c_int {
    release("cuDevicePrimaryCtxRelease_v2", || {
        let ordinal = ordinal(device)?;
        let device = &mut state::lock().devices[ordinal];
        device.retained = device.retained.checked_sub(1).ok_or(Status::INVALID_CONTEXT)?;
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuDevicePrimaryCtxGetState(
    device: c_int,
    flags: Out<c_uint>,
    active: Out<c_int>,
) -> c_int {
    call("cuDevicePrimaryCtxGetState", || {
        let ordinal = ordinal(device)?;
        flags.put(0)?;
        active.put(c_int::from(state::lock().devices[ordinal].retained > 0))
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxSetCurrent(context: usize) -> c_int {
    call("cuCtxSetCurrent", || {
        if context != 0 {
            device_of(context)?;
        }
        PUSHED.with_borrow_mut(|pushed| {
            pushed.pop();
            if context != 0 {
                pushed.push(context);
            }
        });
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxGetCurrent(context: Out<usize>) -> c_int {
    call("cuCtxGetCurrent", || {
        context.put(PUSHED.with_borrow(|pushed| pushed.last().copied().unwrap_or(0)))
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxPushCurrent_v2(context: usize) -> c_int {
    call("cuCtxPushCurrent_v2", || {
        if context != 0 {
            device_of(context)?;
        }
        PUSHED.with_borrow_mut(|pushed| pushed.push(context));
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxPopCurrent_v2(context: Out<usize>) -> c_int {
    release("cuCtxPopCurrent_v2", || {
        let popped = PUSHED.with_borrow_mut(Vec::pop).ok_or(Status::INVALID_CONTEXT)?;
        context.put_if_asked(popped);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxGetDevice(device: Out<c_int>) -> c_int {
    call("cuCtxGetDevice", || device.put(c_int::try_from(current()?).unwrap_or(c_int::MAX)))
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxSynchronize() -> c_int {
    call("cuCtxSynchronize", || synchronize_device(current()?))
}
