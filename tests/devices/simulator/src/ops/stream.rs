//! Streams, and their ordering.

use std::sync::Arc;

use crate::state::{self, Recorded};
use crate::status::Status;
use crate::stream::{Stream, Which};
use crate::work::{Callback, Work};

/// A new stream; `blocking` if it takes turns with the legacy default stream.
pub(crate) fn create(ordinal: usize, blocking: bool) -> Result<usize, Status> {
    let mut state = state::lock();
    state.check(ordinal)?;
    let handle = state.new_handle();
    state.streams.insert(Which::Made(handle), Stream::start(ordinal, blocking));
    Ok(handle)
}

/// Destroys a stream. Its enqueued work still runs.
pub(crate) fn destroy(handle: usize) -> Result<(), Status> {
    let mut state = state::lock();
    let which = Which::Made(handle);
    if !state.streams.contains_key(&which) {
        return Err(Status::INVALID_HANDLE);
    }
    let captured = state.check_not_capturing(which);
    if let Some(stream) = state.streams.remove(&which) {
        state.departed.push((stream.ordinal, stream.tail));
    }
    captured
}

/// The device of a stream.
pub(crate) fn device_of(ordinal: usize, handle: usize) -> Result<usize, Status> {
    let mut state = state::lock();
    let which = state.stream_of(ordinal, handle)?;
    Ok(state.streams[&which].ordinal)
}

/// Waits for all work that was enqueued on a stream.
pub(crate) fn synchronize(ordinal: usize, handle: usize) -> Result<(), Status> {
    let mut state = state::lock();
    let which = state.stream_of(ordinal, handle)?;
    state.check_not_capturing(which)?;
    state.check_unsafe_in_capture()?;
    // On the legacy stream a marker is placed after the work of the blocking streams.
    let fence = state.enqueue(which, Work::Mark)?;
    drop(state);
    fence.wait();
    state::lock().check(ordinal)
}

/// Returns whether all work that was enqueued on a stream has finished.
pub(crate) fn query(ordinal: usize, handle: usize) -> Result<(), Status> {
    let mut state = state::lock();
    let which = state.stream_of(ordinal, handle)?;
    state.check_not_capturing(which)?;
    state.check_unsafe_in_capture()?;
    state.check(ordinal)?;
    let stream = &state.streams[&which];
    if stream.tail.when().is_some() { Ok(()) } else { Err(Status::NOT_READY) }
}

/// Waits for all work of a device.
pub(crate) fn synchronize_device(ordinal: usize) -> Result<(), Status> {
    let mut state = state::lock();
    state.check(ordinal)?;
    state.check_unsafe_in_capture()?;
    state.check_none_captures(ordinal)?;
    let tails = state.tails(ordinal);
    drop(state);
    for fence in tails {
        fence.wait();
    }
    state::lock().check(ordinal)
}

/// Orders the later work of a stream after the recorded work of an event.
pub(crate) fn wait_event(ordinal: usize, handle: usize, event: usize) -> Result<(), Status> {
    let mut state = state::lock();
    let which = state.stream_of(ordinal, handle)?;
    let recorded = state.events.get(&event).ok_or(Status::INVALID_HANDLE)?.recorded.clone();
    let own = state.streams[&which].capture;
    match (recorded, own) {
        (Recorded::Never, _) => Ok(()),
        (Recorded::Work(fence), None) => {
            state.enqueue_after(which, Work::Mark, Some(Arc::clone(&fence))).map(drop)
        }
        (Recorded::Work(_), Some(id)) => Err(state.spoil(id, Status::CAPTURE_ISOLATION)),
        (Recorded::Captured(id, clock), own) => {
            if own.is_some_and(|own| own != id) {
                return Err(state.spoil(id, Status::CAPTURE_MERGE));
            }
            let Some(capture) = state.captures.get_mut(&id) else {
                return Err(Status::CAPTURED_EVENT);
            };
            if matches!(which, Which::Legacy(_)) {
                return Err(state.spoil(id, Status::CAPTURE_IMPLICIT));
            }
            capture.join(which, &clock)?;
            state.streams.get_mut(&which).ok_or(Status::INVALID_HANDLE)?.capture = Some(id);
            Ok(())
        }
    }
}

/// Has a stream call a function of the program.
pub(crate) fn launch_host(ordinal: usize, handle: usize, callback: Callback) -> Result<(), Status> {
    let mut state = state::lock();
    let which = state.stream_of(ordinal, handle)?;
    state.enqueue(which, Work::Call(callback)).map(drop)
}
