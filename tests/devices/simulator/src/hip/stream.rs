//! Streams and events.

use std::ffi::{c_int, c_uint, c_void};

use super::{call, release};
use crate::boundary::Out;
use crate::ops::{event, stream};
use crate::status::Status;
use crate::work::Callback;

#[unsafe(no_mangle)]
extern "C" fn hipStreamCreateWithFlags(made: Out<usize>, flags: c_uint) -> c_int {
    call("hipStreamCreateWithFlags", |current| {
        if flags > 1 {
            return Err(Status::INVALID_VALUE);
        }
        made.put(stream::create(current, flags == 0)?)
    })
}

#[unsafe(no_mangle)]
extern "C" fn hipStreamDestroy(handle: usize) -> c_int {
    release("hipStreamDestroy", |_| stream::destroy(handle))
}

#[unsafe(no_mangle)]
extern "C" fn hipStreamGetDevice(handle: usize, device: Out<c_int>) -> c_int {
    call("hipStreamGetDevice", |current| {
        let ordinal = stream::device_of(current, handle)?;
        device.put(c_int::try_from(ordinal).unwrap_or(c_int::MAX))
    })
}

#[unsafe(no_mangle)]
extern "C" fn hipStreamSynchronize(handle: usize) -> c_int {
    call("hipStreamSynchronize", |current| stream::synchronize(current, handle))
}

#[unsafe(no_mangle)]
extern "C" fn hipStreamQuery(handle: usize) -> c_int {
    call("hipStreamQuery", |current| stream::query(current, handle))
}

#[unsafe(no_mangle)]
extern "C" fn hipStreamWaitEvent(handle: usize, event: usize, _flags: c_uint) -> c_int {
    call("hipStreamWaitEvent", |current| stream::wait_event(current, handle, event))
}

/// # Safety
///
/// 1. `function` may be called with `argument` once by another thread, or at
///    each launch of a graph that records it.
#[unsafe(no_mangle)]
unsafe extern "C" fn hipLaunchHostFunc(
    handle: usize,
    function: Option<unsafe extern "C" fn(*mut c_void)>,
    argument: *mut c_void,
) -> c_int {
    call("hipLaunchHostFunc", |current| {
        let function = function.ok_or(Status::INVALID_VALUE)?;
        stream::launch_host(current, handle, Callback { function, argument })
    })
}

#[unsafe(no_mangle)]
extern "C" fn hipEventCreateWithFlags(made: Out<usize>, _flags: c_uint) -> c_int {
    call("hipEventCreateWithFlags", |current| made.put(event::create(current)?))
}

#[unsafe(no_mangle)]
extern "C" fn hipEventDestroy(handle: usize) -> c_int {
    release("hipEventDestroy", |_| event::destroy(handle))
}

#[unsafe(no_mangle)]
extern "C" fn hipEventRecord(handle: usize, stream: usize) -> c_int {
    call("hipEventRecord", |current| event::record(current, handle, stream))
}

#[unsafe(no_mangle)]
extern "C" fn hipEventQuery(handle: usize) -> c_int {
    call("hipEventQuery", |_| event::finished(handle, false))
}

#[unsafe(no_mangle)]
extern "C" fn hipEventSynchronize(handle: usize) -> c_int {
    call("hipEventSynchronize", |_| event::finished(handle, true))
}
