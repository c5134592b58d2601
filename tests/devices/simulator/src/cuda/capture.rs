//! Stream capture and graphs.

use std::ffi::{c_int, c_uint, c_ulonglong};

use super::context::current;
use crate::boundary::{Out, call, release};
use crate::capture::{Mode, exchange_mode};
use crate::ops::capture;
use crate::status::Status;

#[unsafe(no_mangle)]
extern "C" fn cuStreamBeginCapture_v2(stream: usize, mode: c_uint) -> c_int {
    call("cuStreamBeginCapture_v2", || capture::begin(current()?, stream, Mode::from_code(mode)?))
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamEndCapture(stream: usize, graph: Out<usize>) -> c_int {
    call("cuStreamEndCapture", || {
        let ended = capture::end(current()?, stream);
        graph.put(ended.unwrap_or(0))?;
        ended.map(drop)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamIsCapturing(stream: usize, status: Out<c_uint>) -> c_int {
    call("cuStreamIsCapturing", || status.put(status_code(capture::status(current()?, stream)?)))
}

fn status_code(status: Option<(usize, bool)>) -> c_uint {
    match status {
        None => 0,
        Some((_, false)) => 1,
        Some((_, true)) => 2,
    }
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamGetCaptureInfo_v2(
    stream: usize,
    status: Out<c_uint>,
    id: Out<u64>,
    _graph: Out<usize>,
    _dependencies: Out<usize>,
    _count: Out<usize>,
) -> c_int {
    call("cuStreamGetCaptureInfo_v2", || {
        let found = capture::status(current()?, stream)?;
        if let Some((capture, _)) = found {
            id.put_if_asked(capture as u64);
        }
        status.put(status_code(found))
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuThreadExchangeStreamCaptureMode(mode: *mut c_uint) -> c_int {
    call("cuThreadExchangeStreamCaptureMode", || {
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
extern "C" fn cuGraphInstantiateWithFlags(
    executable: Out<usize>,
    graph: usize,
    _flags: c_ulonglong,
) -> c_int {
    call("cuGraphInstantiateWithFlags", || executable.put(capture::instantiate(graph)?))
}

#[unsafe(no_mangle)]
extern "C" fn cuGraphLaunch(executable: usize, stream: usize) -> c_int {
    call("cuGraphLaunch", || capture::launch(current()?, executable, stream))
}

#[unsafe(no_mangle)]
extern "C" fn cuGraphDestroy(graph: usize) -> c_int {
    release("cuGraphDestroy", || capture::destroy_graph(graph))
}

#[unsafe(no_mangle)]
extern "C" fn cuGraphExecDestroy(executable: usize) -> c_int {
    release("cuGraphExecDestroy", || capture::destroy_executable(executable))
}
