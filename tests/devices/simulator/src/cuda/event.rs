//! Events.

use std::ffi::{c_int, c_uint};

use super::context::current;
use crate::boundary::{Out, call, release};
use crate::ops::event;

#[unsafe(no_mangle)]
extern "C" fn cuEventCreate(made: Out<usize>, _flags: c_uint) -> c_int {
    call("cuEventCreate", || made.put(event::create(current()?)?))
}

#[unsafe(no_mangle)]
extern "C" fn cuEventDestroy_v2(handle: usize) -> c_int {
    release("cuEventDestroy_v2", || event::destroy(handle))
}

#[unsafe(no_mangle)]
extern "C" fn cuEventRecord(handle: usize, stream: usize) -> c_int {
    call("cuEventRecord", || event::record(current()?, handle, stream))
}

#[unsafe(no_mangle)]
extern "C" fn cuEventRecordWithFlags(handle: usize, stream: usize, _flags: c_uint) -> c_int {
    call("cuEventRecordWithFlags", || event::record(current()?, handle, stream))
}

#[unsafe(no_mangle)]
extern "C" fn cuEventQuery(handle: usize) -> c_int {
    call("cuEventQuery", || event::finished(handle, false))
}

#[unsafe(no_mangle)]
extern "C" fn cuEventSynchronize(handle: usize) -> c_int {
    call("cuEventSynchronize", || event::finished(handle, true))
}

#[unsafe(no_mangle)]
extern "C" fn cuEventElapsedTime(milliseconds: Out<f32>, start: usize, end: usize) -> c_int {
    call("cuEventElapsedTime", || milliseconds.put(event::elapsed(start, end)?))
}

#[unsafe(no_mangle)]
extern "C" fn cuEventElapsedTime_v2(milliseconds: Out<f32>, start: usize, end: usize) -> c_int {
    call("cuEventElapsedTime_v2", || milliseconds.put(event::elapsed(start, end)?))
}
