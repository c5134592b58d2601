//! Primary contexts, and the current context of each thread.

use std::cell::Cell;
use std::ffi::{c_int, c_uint};

use super::device::{handle, ordinal};
use crate::boundary::{Out, call, release};
use crate::ops::event::record_all;
use crate::ops::stream::synchronize_device;
use crate::state;
use crate::status::Status;

/// The handle of the primary context of device 0; the next ones follow.
const FIRST: usize = 0x0C7C_0000;

/// The contexts that a thread pushed; the last one is current. NULL is one.
///
/// It has no destructor: deleters are called by those of other variables too.
#[derive(Clone, Copy)]
struct Pushed {
    contexts: [usize; 32],
    depth: usize,
}

thread_local! {
    static PUSHED: Cell<Pushed> = const { Cell::new(Pushed { contexts: [0; 32], depth: 0 }) };
}

impl Pushed {
    fn last(&self) -> usize {
        self.contexts[..self.depth].last().copied().unwrap_or(0)
    }

    fn push(&mut self, context: usize) -> Result<(), Status> {
        *self.contexts.get_mut(self.depth).ok_or(Status::OUT_OF_MEMORY)? = context;
        self.depth += 1;
        Ok(())
    }

    fn pop(&mut self) -> Result<usize, Status> {
        let last = self.last();
        self.depth = self.depth.checked_sub(1).ok_or(Status::INVALID_CONTEXT)?;
        Ok(last)
    }
}

/// Applies a change to the contexts that this thread pushed.
fn change<R>(change: impl FnOnce(&mut Pushed) -> Result<R, Status>) -> Result<R, Status> {
    let mut pushed = PUSHED.get();
    let result = change(&mut pushed);
    PUSHED.set(pushed);
    result
}

/// Returns the device whose context is current for this thread.
pub(super) fn current() -> Result<usize, Status> {
    device_of(PUSHED.get().last())
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
        change(|pushed| {
            // Nothing was current before: nothing to take away.
            let _ = pushed.pop();
            if context == 0 { Ok(()) } else { pushed.push(context) }
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxGetCurrent(context: Out<usize>) -> c_int {
    call("cuCtxGetCurrent", || context.put(PUSHED.get().last()))
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxPushCurrent_v2(context: usize) -> c_int {
    call("cuCtxPushCurrent_v2", || {
        if context != 0 {
            device_of(context)?;
        }
        change(|pushed| pushed.push(context))
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxPopCurrent_v2(context: Out<usize>) -> c_int {
    release("cuCtxPopCurrent_v2", || {
        context.put_if_asked(change(Pushed::pop)?);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxGetDevice(device: Out<c_int>) -> c_int {
    call("cuCtxGetDevice", || device.put(handle(c_int::try_from(current()?).unwrap_or(c_int::MAX))))
}

/// A number that no other context has, also none of the same device before or after a reset.
#[unsafe(no_mangle)]
extern "C" fn cuCtxGetId(context: usize, id: Out<u64>) -> c_int {
    call("cuCtxGetId", || {
        let ordinal = device_of(context)?;
        let resets = state::lock().devices[ordinal].resets;
        id.put(resets << 32 | u64::try_from(ordinal).unwrap_or(u64::MAX))
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxRecordEvent(context: usize, event: usize) -> c_int {
    call("cuCtxRecordEvent", || record_all(device_of(context)?, event))
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxSynchronize() -> c_int {
    call("cuCtxSynchronize", || synchronize_device(current()?))
}
