//! Makes the interpreter wait for deleters before it finalizes: [`Attaching`].
//!
//! CPython has no safe way to attach a thread while the interpreter finalizes. Up to 3.13
//! it terminates a thread that acquires the GIL then, unwinding through the Rust frames
//! below, and in free-threaded builds it frees the state of a thread that is attaching.
//! Therefore a thread attaches to drop a value, or leaves it to `deferred_drop`, only before that: an
//! `atexit` function waits for such threads, drops the values, and makes later ones leak
//! their Python objects (`drop_attached`).

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use core::time::Duration;
use std::time::Instant;

use pyo3::prelude::*;
use pyo3::types::PyCFunction;

use crate::python::interpreter::deferred_drop::drain;
use crate::python::interpreter::detached;
use crate::python::interpreter::in_first_interpreter;
use crate::python::interpreter::symbols::Symbols;

/// The lowest bit is set when the interpreter finalizes; the other bits count the
/// attaching threads.
static STATE: AtomicUsize = AtomicUsize::new(0);

const ENDS: usize = 1;
const THREAD: usize = 2;

/// How long the interpreter waits for deleters. A deleter that takes longer, for example
/// because it waits for the main thread, continues as it would without the wait.
const PATIENCE: Duration = Duration::from_secs(5);

/// The permission of a thread to attach. The interpreter waits for it to be dropped
/// before it finalizes.
pub(in crate::python) struct Attaching(());

impl Attaching {
    /// Returns `None` if the interpreter finalizes.
    pub(in crate::python) fn begin() -> Option<Self> {
        // Acquire and release: what this thread does in between happens before the
        // finalization.
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

/// Makes the interpreter call [`end`] before it finalizes. Only the first call registers
/// it.
#[inline]
pub(in crate::python) fn watch(py: Python<'_>) {
    static WATCHED: AtomicBool = AtomicBool::new(false);
    if WATCHED.load(Ordering::Relaxed) {
        return;
    }
    // This thread is attached, so no other thread forks meanwhile. If a deleter on
    // another thread did the lookup, a fork could interrupt it, and the child process
    // would block.
    Symbols::get();
    if in_first_interpreter(py).is_ok() && !WATCHED.swap(true, Ordering::Relaxed) {
        if let Err(error) = register(py) {
            // The next import tries again. An interrupt is reported, because this function
            // cannot raise it.
            WATCHED.store(false, Ordering::Relaxed);
            error.write_unraisable(py, None);
        }
    }
}

#[cold]
fn register(py: Python<'_>) -> PyResult<()> {
    let process = std::process::id();
    let end = PyCFunction::new_closure(py, Some(c"end"), None, move |arguments, _| {
        // A forked child process has none of the threads that are counted.
        let wait = process == std::process::id();
        end(arguments.py(), wait);
    })?;
    py.import("atexit")?.call_method1("register", (end,))?;
    Ok(())
}

/// Waits for the threads that are attaching, and prevents others from attaching.
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
    drain(py);
}
