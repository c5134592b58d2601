//! Copying and filling.

use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use crate::memory::Place;
use crate::state;
use crate::status::Status;
use crate::work::Work;

/// The arguments of a copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copy {
    pub(crate) to: usize,
    pub(crate) from: usize,
    /// In bytes.
    pub(crate) len: usize,
}

/// Copies on a stream; `wait` until it is done. A copy with ordinary memory of
/// the program reads or writes that before it returns.
///
/// # Safety
///
/// 1. Where an address is not of the simulator, `len` bytes from there on may
///    be read, or written.
pub(crate) unsafe fn copy(
    ordinal: usize,
    stream: usize,
    Copy { to, from, len }: Copy,
    wait: bool,
) -> Result<(), Status> {
    if len == 0 {
        return Ok(());
    }
    let mut state = state::lock();
    let which = state.stream_of(ordinal, stream)?;
    if wait {
        state.check_unsafe_in_capture()?;
        state.check_not_capturing(which)?;
    }
    let pageable = |address| match state.memory.at(address) {
        Place::Live(..) => Ok(false),
        Place::Pageable => Ok(true),
        Place::Freed => Err(Status::INVALID_VALUE),
    };
    let fence = match (pageable(to)?, pageable(from)?) {
        (true, true) => return Err(Status::INVALID_VALUE),
        (false, false) => state.enqueue(which, Work::Copy { to, from, len })?,
        (false, true) => {
            state.check_not_capturing(which)?;
            // SAFETY: (1) it is the program's, to be read.
            let read = unsafe {
                std::slice::from_raw_parts(ptr::with_exposed_provenance::<u8>(from), len)
            };
            state.enqueue(which, Work::Write { to, bytes: Arc::from(read) })?
        }
        (true, false) => {
            state.check_not_capturing(which)?;
            let into = Arc::new(Mutex::new(Vec::new()));
            let work = Work::Read { from, len, into: Arc::clone(&into) };
            let fence = state.enqueue(which, work)?;
            drop(state);
            fence.wait();
            let read = into.lock().unwrap_or_else(PoisonError::into_inner);
            let target = ptr::with_exposed_provenance_mut::<u8>(to);
            // SAFETY: (1) it is the program's memory, which may be written; the length is
            // that of the request.
            unsafe { ptr::copy_nonoverlapping(read.as_ptr(), target, read.len()) };
            return state::lock().check(ordinal);
        }
    };
    drop(state);
    if wait {
        fence.wait();
        state::lock().check(ordinal)?;
    }
    Ok(())
}

/// The arguments of a fill.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fill {
    pub(crate) to: usize,
    pub(crate) value: u32,
    /// Bytes of `value` that are repeated.
    pub(crate) width: usize,
    /// How often.
    pub(crate) count: usize,
}

/// Fills memory on a stream; `wait` until it is done.
pub(crate) fn fill(
    ordinal: usize,
    stream: usize,
    Fill { to, value, width, count }: Fill,
    wait: bool,
) -> Result<(), Status> {
    let len = count.checked_mul(width).ok_or(Status::INVALID_VALUE)?;
    if len == 0 {
        return Ok(());
    }
    let mut state = state::lock();
    let which = state.stream_of(ordinal, stream)?;
    if !matches!(state.memory.at(to), Place::Live(..)) || to % width != 0 {
        return Err(Status::INVALID_VALUE);
    }
    if wait {
        state.check_unsafe_in_capture()?;
        state.check_not_capturing(which)?;
    }
    let fence = state.enqueue(which, Work::Fill { to, value, width, len })?;
    drop(state);
    if wait {
        fence.wait();
        state::lock().check(ordinal)?;
    }
    Ok(())
}
