//! Allocating and freeing.

use crate::memory::{Kind, Place};
use crate::state;
use crate::status::Status;
use crate::work::Work;

/// Allocates at once.
pub(crate) fn allocate(ordinal: usize, kind: Kind, len: usize) -> Result<usize, Status> {
    let mut state = state::lock();
    state.check(ordinal)?;
    state.check_unsafe_in_capture()?;
    state.memory.allocate(kind, ordinal, len)
}

/// Allocates in the order of a stream.
pub(crate) fn allocate_in_order(
    ordinal: usize,
    stream: usize,
    len: usize,
) -> Result<usize, Status> {
    let mut state = state::lock();
    let which = state.stream_of(ordinal, stream)?;
    if !state.devices[ordinal].has_pools {
        return Err(Status::NOT_SUPPORTED);
    }
    if state.streams[&which].capture.is_some() {
        // A driver records a node that allocates; the simulator has none.
        return Err(Status::NOT_SUPPORTED);
    }
    state.enqueue(which, Work::Mark)?;
    state.memory.allocate(Kind::Pooled, ordinal, len)
}

/// Frees device memory or managed memory. Memory that was not allocated in stream order
/// is freed after all work of all devices.
pub(crate) fn free(start: usize) -> Result<(), Status> {
    let kinds = [Kind::Device, Kind::Managed, Kind::Pooled];
    let waits = {
        let mut state = state::lock();
        let kind = state.memory.starting_at(start)?.kind;
        if !kinds.contains(&kind) {
            return Err(Status::INVALID_VALUE);
        }
        state.check_unsafe_in_capture()?;
        // Found and condemned under one lock: of two threads one frees.
        state.memory.starting_at(start)?.condemned = true;
        if kind == Kind::Pooled { Vec::new() } else { state.all_tails() }
    };
    for fence in waits {
        fence.wait();
    }
    state::lock().memory.free(start)
}

/// Frees memory in the order of a stream; it must have been allocated in stream order.
pub(crate) fn free_in_order(ordinal: usize, stream: usize, start: usize) -> Result<(), Status> {
    let mut state = state::lock();
    let which = state.stream_of(ordinal, stream)?;
    state.check_not_capturing(which)?;
    let allocation = state.memory.starting_at(start)?;
    if allocation.kind != Kind::Pooled {
        return Err(Status::INVALID_VALUE);
    }
    allocation.condemned = true;
    let queued = state.enqueue(which, Work::Free { start });
    if queued.is_err() {
        // A failed device: nothing will run, so nothing can be in flight.
        state.memory.free(start)?;
    }
    queued.map(drop)
}

/// Frees pinned memory at once. No driver guarantees a wait here.
pub(crate) fn free_host(start: usize) -> Result<(), Status> {
    let mut state = state::lock();
    if state.memory.starting_at(start)?.kind != Kind::Pinned {
        return Err(Status::INVALID_VALUE);
    }
    state.check_unsafe_in_capture()?;
    state.memory.free(start)
}

/// The attributes of an address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attributes {
    pub(crate) kind: Kind,
    pub(crate) ordinal: usize,
    pub(crate) start: usize,
    pub(crate) len: usize,
}

/// Returns the attributes of an address; none for ordinary memory of the program.
pub(crate) fn attributes(address: usize) -> Result<Attributes, Status> {
    match state::lock().memory.at(address) {
        Place::Live(start, found) => {
            Ok(Attributes { kind: found.kind, ordinal: found.ordinal, start, len: found.len })
        }
        Place::Freed | Place::Pageable => Err(Status::INVALID_VALUE),
    }
}
