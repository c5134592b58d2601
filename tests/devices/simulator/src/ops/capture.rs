//! Captures and graphs.

use std::sync::Arc;

use crate::capture::{Capture, Mode};
use crate::state::{self, thread_id};
use crate::status::Status;
use crate::stream::Which;
use crate::work::Work;

/// Begins to record a stream.
pub(crate) fn begin(ordinal: usize, handle: usize, mode: Mode) -> Result<(), Status> {
    let mut state = state::lock();
    let which = state.stream_of(ordinal, handle)?;
    if matches!(which, Which::Legacy(_)) {
        return Err(Status::CAPTURE_UNSUPPORTED);
    }
    if state.streams[&which].capture.is_some() {
        return Err(Status::INVALID_VALUE);
    }
    let id = state.new_handle();
    state.captures.insert(id, Capture::begin(which, mode));
    if let Some(stream) = state.streams.get_mut(&which) {
        stream.capture = Some(id);
    }
    Ok(())
}

/// Ends a capture that [`begin`] started; returns a graph.
pub(crate) fn end(ordinal: usize, handle: usize) -> Result<usize, Status> {
    let mut state = state::lock();
    let which = state.stream_of(ordinal, handle)?;
    let id = state.streams[&which].capture.ok_or(Status::INVALID_VALUE)?;
    let capture = state.captures.get(&id).ok_or(Status::CAPTURE_INVALIDATED)?;
    if capture.origin != which || capture.thread != thread_id() {
        return Err(Status::CAPTURE_UNMATCHED);
    }
    for joined in capture.streams() {
        if let Some(stream) = state.streams.get_mut(&joined) {
            stream.capture = None;
        }
    }
    let capture = state.captures.remove(&id).ok_or(Status::CAPTURE_INVALIDATED)?;
    let nodes = capture.end()?;
    let graph = state.new_handle();
    state.graphs.insert(graph, nodes.into());
    Ok(graph)
}

/// The capture that records a stream, if one does, and whether it is spoilt.
pub(crate) fn status(ordinal: usize, handle: usize) -> Result<Option<(usize, bool)>, Status> {
    let mut state = state::lock();
    let which = state.stream_of(ordinal, handle)?;
    if matches!(which, Which::Legacy(_)) && state.implicit(ordinal).is_some() {
        return Err(Status::CAPTURE_IMPLICIT);
    }
    let id = state.streams[&which].capture;
    Ok(id.map(|id| (id, state.captures.get(&id).is_none_or(|c| c.clock(which).is_err()))))
}

/// Makes a graph that can be launched.
pub(crate) fn instantiate(graph: usize) -> Result<usize, Status> {
    let mut state = state::lock();
    let nodes = Arc::clone(state.graphs.get(&graph).ok_or(Status::INVALID_VALUE)?);
    let executable = state.new_handle();
    state.executables.insert(executable, nodes);
    Ok(executable)
}

/// Enqueues the recorded work of a graph on a stream.
pub(crate) fn launch(ordinal: usize, executable: usize, stream: usize) -> Result<(), Status> {
    let mut state = state::lock();
    let which = state.stream_of(ordinal, stream)?;
    let nodes = Arc::clone(state.executables.get(&executable).ok_or(Status::INVALID_VALUE)?);
    state.enqueue(which, Work::Graph(nodes)).map(drop)
}

/// Gives a graph back.
pub(crate) fn destroy_graph(graph: usize) -> Result<(), Status> {
    state::lock().graphs.remove(&graph).map(drop).ok_or(Status::INVALID_VALUE)
}

/// Gives a graph back that could be launched.
pub(crate) fn destroy_executable(executable: usize) -> Result<(), Status> {
    state::lock().executables.remove(&executable).map(drop).ok_or(Status::INVALID_VALUE)
}
