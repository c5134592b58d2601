//! Deleters on threads that Python does not know, and the end of the interpreter:
//! [`Attaching`].
//!
//! CPython has no way to attach a thread safely while the interpreter ends. Up to 3.13 it ends
//! a thread that needs the GIL then, through the frames of Rust below, and without a GIL it
//! frees the state of a thread that is just attaching. So a function that the interpreter
//! calls before it ends, while threads can still attach, waits for the deleters that run, and
//! later ones do not attach.

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use core::time::Duration;
use std::time::Instant;

use pyo3::prelude::*;
use pyo3::types::PyCFunction;

use super::class::in_first_interpreter;
use super::convert::quietly;
use super::detached::detached;
use super::symbols::Symbols;

/// The lowest bit is set when the interpreter ends; what is above counts the threads.
static STATE: AtomicUsize = AtomicUsize::new(0);

const ENDS: usize = 1;
const THREAD: usize = 2;

/// How long the interpreter waits for deleters. One that takes longer, such as one that waits
/// for the main thread, finds the interpreter as it was without the wait.
const PATIENCE: Duration = Duration::from_secs(5);

/// The right of a thread to attach, for which the interpreter waits before it ends.
pub(super) struct Attaching(());

impl Attaching {
    /// `None` if the interpreter ends.
    pub(super) fn begin() -> Option<Self> {
        // Acquire and Release: the interpreter finds done what this thread does in between.
        let before = STATE.fetch_add(THREAD, Ordering::AcqRel);
        let attaching = Self(());
        (before & ENDS == 0).then_some(attaching)
    }
}

impl Drop for Attaching {
    fn drop(&mut self) {
        STATE.fetch_sub(THREAD, Ordering::AcqRel);
    }
}

/// Has the interpreter call [`end`] before it ends. The first call does.
#[inline]
pub(super) fn watch(py: Python<'_>) {
    static WATCHED: AtomicBool = AtomicBool::new(false);
    if WATCHED.load(Ordering::Relaxed) {
        return;
    }
    // This thread is attached, so no other one forks meanwhile. If the lookup was left to a
    // deleter on another thread, a fork could find it half done, and the child would wait.
    Symbols::get();
    if in_first_interpreter(py).is_ok() && !WATCHED.swap(true, Ordering::Relaxed) {
        quietly(py, register(py));
    }
}

#[cold]
fn register(py: Python<'_>) -> PyResult<()> {
    let process = std::process::id();
    let end = PyCFunction::new_closure(py, Some(c"end"), None, move |arguments, _| {
        // A child of a fork has none of the threads that are counted.
        let wait = process == std::process::id();
        end(arguments.py(), wait);
    })?;
    py.import("atexit")?.call_method1("register", (end,))?;
    Ok(())
}

/// Waits for the threads that attach, and lets no more of them do so.
fn end(py: Python<'_>, wait: bool) {
    STATE.fetch_or(ENDS, Ordering::AcqRel);
    if wait {
        detached(py, || {
            let since = Instant::now();
            while STATE.load(Ordering::Acquire) != ENDS && since.elapsed() < PATIENCE {
                std::thread::sleep(Duration::from_millis(1));
            }
        });
    }
}
