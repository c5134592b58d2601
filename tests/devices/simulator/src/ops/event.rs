//! Events.

use crate::fence::Fence;
use crate::state::{self, Event, Recorded};
use crate::status::Status;
use crate::stream::Stream;
use crate::work::Work;

/// A new event, in which nothing is recorded.
pub(crate) fn create(ordinal: usize) -> Result<usize, Status> {
    let mut state = state::lock();
    state.check(ordinal)?;
    let handle = state.new_handle();
    state.events.insert(handle, Event { ordinal, recorded: Recorded::Never });
    Ok(handle)
}

/// Destroys an event. Streams that wait for its recorded work continue to wait.
pub(crate) fn destroy(handle: usize) -> Result<(), Status> {
    state::lock().events.remove(&handle).map(drop).ok_or(Status::INVALID_HANDLE)
}

/// Records the work that was enqueued on a stream so far.
pub(crate) fn record(ordinal: usize, handle: usize, stream: usize) -> Result<(), Status> {
    let mut state = state::lock();
    let which = state.stream_of(ordinal, stream)?;
    let event = state.events.get(&handle).ok_or(Status::INVALID_HANDLE)?;
    if event.ordinal != state.streams[&which].ordinal {
        return Err(Status::INVALID_HANDLE);
    }
    let recorded = match state.streams[&which].capture {
        Some(id) => {
            let capture = state.captures.get(&id).ok_or(Status::CAPTURE_INVALIDATED)?;
            Recorded::Captured(id, capture.clock(which)?)
        }
        None => Recorded::Work(state.enqueue(which, Work::Mark)?),
    };
    if let Some(event) = state.events.get_mut(&handle) {
        event.recorded = recorded;
    }
    Ok(())
}

/// Records all work that was enqueued on a device so far. As on a GPU, this ends a capture.
pub(crate) fn record_all(ordinal: usize, handle: usize) -> Result<(), Status> {
    let mut state = state::lock();
    state.check(ordinal)?;
    state.check_none_captures(ordinal)?;
    let event = state.events.get(&handle).ok_or(Status::INVALID_HANDLE)?;
    if event.ordinal != ordinal {
        return Err(Status::INVALID_HANDLE);
    }
    // A mark on a stream of its own, which waits for the last work of all others.
    let tails = state.tails(ordinal);
    let fence = if tails.iter().all(|tail| tail.when().is_some()) {
        Fence::passed()
    } else {
        Stream::start(ordinal, false).push(Work::Mark, tails)
    };
    if let Some(event) = state.events.get_mut(&handle) {
        event.recorded = Recorded::Work(fence);
    }
    Ok(())
}

/// Returns whether the recorded work has finished; waits for it if `wait`.
pub(crate) fn finished(handle: usize, wait: bool) -> Result<(), Status> {
    let mut state = state::lock();
    let Event { ordinal, recorded } =
        state.events.get(&handle).ok_or(Status::INVALID_HANDLE)?.clone();
    let fence = match recorded {
        Recorded::Never => return Ok(()),
        Recorded::Work(fence) => fence,
        Recorded::Captured(id, _) => return Err(state.spoil(id, Status::CAPTURED_EVENT)),
    };
    state.check(ordinal)?;
    state.check_unsafe_in_capture()?;
    if !wait {
        return if fence.when().is_some() { Ok(()) } else { Err(Status::NOT_READY) };
    }
    drop(state);
    fence.wait();
    state::lock().check(ordinal)
}

/// Returns the milliseconds between the records of two events.
pub(crate) fn elapsed(start: usize, end: usize) -> Result<f32, Status> {
    let state = state::lock();
    let when = |handle| match &state.events.get(&handle).ok_or(Status::INVALID_HANDLE)?.recorded {
        Recorded::Work(fence) => fence.when().ok_or(Status::NOT_READY),
        Recorded::Never | Recorded::Captured(..) => Err(Status::INVALID_HANDLE),
    };
    Ok(when(end)?.saturating_duration_since(when(start)?).as_secs_f32() * 1000.0)
}
