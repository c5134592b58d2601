//! The work of a stream: [`Work`].

use std::ffi::c_void;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crate::kernel::Launch;
use crate::memory::Span;
use crate::pages;
use crate::state;
use crate::status::Status;

/// A function of the program that a stream calls, and its argument.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Callback {
    pub(crate) function: unsafe extern "C" fn(*mut c_void),
    pub(crate) argument: *mut c_void,
}

// SAFETY: the caller that enqueues a host function guarantees that it may run on another
// thread.
unsafe impl Send for Callback {}
// SAFETY: likewise.
unsafe impl Sync for Callback {}

/// One thing that a stream does. A graph does it again at each launch.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    /// Nothing: a place in the stream's order.
    Mark,
    /// Copies within memory of the simulator.
    Copy { to: usize, from: usize, len: usize },
    /// Copies bytes that were read from the program's memory when the copy was enqueued.
    Write { to: usize, bytes: Arc<[u8]> },
    /// Reads for the program's memory; the caller writes the bytes there.
    Read { from: usize, len: usize, into: Arc<Mutex<Vec<u8>>> },
    /// Repeats the first `width` bytes of a number.
    Fill { to: usize, value: u32, width: usize, len: usize },
    /// A kernel.
    Launch(Launch),
    /// A call of the program's.
    Call(Callback),
    /// Frees the allocation that starts there.
    Free { start: usize },
    /// A graph.
    Graph(Arc<[Work]>),
}

impl Work {
    /// Does it, on a stream of the device `ordinal`.
    pub(crate) fn run(&self, ordinal: usize) -> Result<(), Status> {
        if !matches!(self, Work::Mark | Work::Graph(_)) {
            // Read first: a sleep must not hold the lock.
            let delay = state::lock().delay;
            thread::sleep(delay);
        }
        match self {
            Work::Mark => Ok(()),
            Work::Copy { to, from, len } => {
                let (to, from) = (span(*to, *len)?, span(*from, *len)?);
                pages::copy(to.bytes(), from.bytes());
                Ok(())
            }
            Work::Write { to, bytes } => {
                for (cell, byte) in span(*to, bytes.len())?.bytes().iter().zip(&**bytes) {
                    cell.store(*byte, Ordering::Relaxed);
                }
                Ok(())
            }
            Work::Read { from, len, into } => {
                let span = span(*from, *len)?;
                let bytes = span.bytes().iter().map(|cell| cell.load(Ordering::Relaxed));
                *into.lock().unwrap_or_else(PoisonError::into_inner) = bytes.collect();
                Ok(())
            }
            Work::Fill { to, value, width, len } => {
                let pattern = value.to_le_bytes();
                let repeated = pattern.iter().take(*width).cycle();
                for (cell, byte) in span(*to, *len)?.bytes().iter().zip(repeated) {
                    cell.store(*byte, Ordering::Relaxed);
                }
                Ok(())
            }
            Work::Launch(launch) => launch.run(ordinal),
            Work::Call(Callback { function, argument }) => {
                // SAFETY: the program gave both for this call.
                unsafe { function(*argument) };
                Ok(())
            }
            Work::Free { start } => state::lock().memory.free(*start),
            Work::Graph(nodes) => nodes.iter().try_for_each(|node| node.run(ordinal)),
        }
    }
}

/// Looked up when the work runs, not when it was enqueued: memory that was freed in
/// between is an error.
fn span(address: usize, len: usize) -> Result<Span, Status> {
    state::lock().memory.span(address, len)
}
