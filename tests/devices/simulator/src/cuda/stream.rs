//! Streams.

use std::ffi::{c_int, c_uint, c_void};

use super::context::{context_of, current};
use crate::boundary::{Out, call, release};
use crate::ops::stream;
use crate::state;
use crate::status::Status;
use crate::work::Callback;

/// `CU_STREAM_NON_BLOCKING`.
const NON_BLOCKING: c_uint = 1;

fn create(made: Out<usize>, flags: c_uint) -> Result<(), Status> {
    if flags > NON_BLOCKING {
        return Err(Status::INVALID_VALUE);
    }
    made.put(stream::create(current()?, flags != NON_BLOCKING)?)
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamCreate(made: Out<usize>, flags: c_uint) -> c_int {
    call("cuStreamCreate", || create(made, flags))
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamCreateWithPriority(
    made: Out<usize>,
    flags: c_uint,
    _priority: c_int,
) -> c_int {
    call("cuStreamCreateWithPriority", || create(made, flags))
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamDestroy_v2(handle: usize) -> c_int {
    release("cuStreamDestroy_v2", || stream::destroy(handle))
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamSynchronize(handle: usize) -> c_int {
    call("cuStreamSynchronize", || stream::synchronize(current()?, handle))
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamQuery(handle: usize) -> c_int {
    call("cuStreamQuery", || stream::query(current()?, handle))
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamWaitEvent(handle: usize, event: usize, _flags: c_uint) -> c_int {
    call("cuStreamWaitEvent", || stream::wait_event(current()?, handle, event))
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamGetCtx(handle: usize, context: Out<usize>) -> c_int {
    call("cuStreamGetCtx", || {
        let ordinal = current();
        let mut state = state::lock();
        // A created stream stores its device; a default stream uses the current one.
        let which = match ordinal {
            Ok(ordinal) => state.stream_of(ordinal, handle)?,
            Err(status) if handle <= 2 => return Err(status),
            Err(_) => state.stream_of(0, handle)?,
        };
        context.put(context_of(state.streams[&which].ordinal))
    })
}

/// # Safety
///
/// 1. `function` may be called with `argument` once by another thread, or at
///    each launch of a graph that records it.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuLaunchHostFunc(
    handle: usize,
    function: Option<unsafe extern "C" fn(*mut c_void)>,
    argument: *mut c_void,
) -> c_int {
    call("cuLaunchHostFunc", || {
        let function = function.ok_or(Status::INVALID_VALUE)?;
        stream::launch_host(current()?, handle, Callback { function, argument })
    })
}
