//! Stream capture and graphs.

use std::ffi::{c_int, c_uint, c_ulonglong};

use super::{call, release};
use crate::boundary::Out;
use crate::capture::{Mode, exchange_mode};
use crate::ops::capture;
use crate::status::Status;

#[unsafe(no_mangle)]
extern "C" fn hipStreamBeginCapture(stream: usize, mode: c_uint) -> c_int {
    call("hipStreamBeginCapture", |current| capture::begin(current, stream, Mode::from_code(mode)?))
}

#[unsafe(no_mangle)]
extern "C" fn hipStreamEndCapture(stream: usize, graph: Out<usize>) -> c_int {
    call("hipStreamEndCapture", |current| {
        let ended = capture::end(current, stream);
        graph.put(ended.unwrap_or(0))?;
        ended.map(drop)
    })
}

#[unsafe(no_mangle)]
extern "C" fn hipStreamIsCapturing(stream: usize, status: Out<c_uint>) -> c_int {
    call("hipStreamIsCapturing", |current| {
        status.put(match capture::status(current, stream)? {
            None => 0,
            Some((_, false)) => 1,
            Some((_, true)) => 2,
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn hipThreadExchangeStreamCaptureMode(mode: *mut c_uint) -> c_int {
    call("hipThreadExchangeStreamCaptureMode", |_| {
        if mode.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        // SAFETY: by the function's contract it may be read, and is not NULL.
        let wanted = unsafe { mode.read() };
        let before = exchange_mode(Mode::from_code(wanted)?);
        // SAFETY: by the function's contract it may be written.
        unsafe { mode.write(before.code()) };
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn hipGraphInstantiateWithFlags(
    executable: Out<usize>,
    graph: usize,
    _flags: c_ulonglong,
) -> c_int {
    call("hipGraphInstantiateWithFlags", |_| executable.put(capture::instantiate(graph)?))
}

#[unsafe(no_mangle)]
extern "C" fn hipGraphLaunch(executable: usize, stream: usize) -> c_int {
    call("hipGraphLaunch", |current| capture::launch(current, executable, stream))
}

#[unsafe(no_mangle)]
extern "C" fn hipGraphDestroy(graph: usize) -> c_int {
    release("hipGraphDestroy", |_| capture::destroy_graph(graph))
}

#[unsafe(no_mangle)]
extern "C" fn hipGraphExecDestroy(executable: usize) -> c_int {
    release("hipGraphExecDestroy", |_| capture::destroy_executable(executable))
}
