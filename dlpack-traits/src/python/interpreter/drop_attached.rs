//! Drops values that belong to Python on any thread: [`DropAttached`], and calls the deleters of
//! imported tensors: [`adopt`], [`release`].
//!
//! # Threads that are not attached
//!
//! A thread that is not attached cannot drop values without a wait for the GIL, and the thread that
//! has the GIL may wait for it: `Vec<PyTensor>` with rayon's `into_par_iter`, without
//! `Python::detach`, never returned. Deleters of PyTorch and NumPy wait for the GIL too. Their values
//! are dropped on a later attached thread: [`defer`], [`drain`]. They are in a list to which any
//! thread adds without a lock, so a fork finds it valid. It is emptied by the next import or export,
//! by a pending call on the main thread of Python, and when the interpreter ends.
//!
//! # The end of the interpreter
//!
//! CPython has no safe way to attach a thread while the interpreter finalizes. Up to 3.13
//! it terminates a thread that acquires the GIL then, unwinding through the Rust frames
//! below, and in free-threaded builds it frees the state of a thread that is attaching.
//! Therefore a thread attaches to drop a value, or leaves it to another one, only before that
//! ([`Attaching`]): an `atexit` function waits for such threads, drops the values, and makes later
//! ones leak their Python objects.

use alloc::boxed::Box;
use core::any::Any;
use core::ffi::{c_int, c_void};
use core::ops::Deref;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use core::time::Duration;
use std::time::Instant;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyCFunction;

use crate::import::{ImportPolicy, ImportedTensor};
use crate::managed::{Abi, Release};
use crate::python::convert::{invalid, try_attach};
use crate::python::interpreter::in_first_interpreter;
use crate::python::interpreter::pending_exception::{PendingAside, preserve_exception};
use crate::python::interpreter::symbols::{Symbols, attached_to_first, is_attached};
use crate::storage::{fill, try_place};

/// A value that holds references to Python objects, and is dropped on an attached thread.
///
/// It may be dropped on any thread. A thread of Python that is detached attaches; one that Python
/// does not know leaves the value to another thread ([`defer`]). Once the interpreter has begun to finalize, the value is leaked, because
/// references can no longer be released.
pub(in crate::python) struct DropAttached<T: 'static>(
    /// `None` once it was dropped.
    Option<T>,
);

impl<T: 'static> DropAttached<T> {
    pub(in crate::python) const fn new(value: T) -> Self {
        Self(Some(value))
    }

    /// Drops the value on an attached thread. Its destructors may run any code, so a pending
    /// exception is set aside, and one that they leave is reported as unraisable.
    ///
    /// PyO3 does not attach inside a `__traverse__`, where the garbage collector must not see
    /// reference counts change. The value is leaked then.
    fn drop_here(&mut self) {
        let _ = try_attach(|py| {
            let _pending = PendingAside::reporting(py);
            drop(self.0.take());
        });
        core::mem::forget(self.0.take());
    }

    /// Attaches a thread of Python that is detached, unless the interpreter finalizes.
    #[cold]
    #[inline(never)]
    fn attach_and_drop(&mut self) {
        let Some(_attaching) = Attaching::begin() else {
            return core::mem::forget(self.0.take());
        };
        // SAFETY: the interpreter is initialized, and waits for this thread before it ends.
        let state = unsafe { ffi::PyGILState_Ensure() };
        self.drop_here();
        // SAFETY: `state` is what the matching call returned, on this thread.
        unsafe { ffi::PyGILState_Release(state) };
    }

    /// Leaves the drop to an attached thread, unless the interpreter finalizes.
    #[cold]
    #[inline(never)]
    fn defer(&mut self) {
        /// The value, which an attached thread drops.
        struct Deferred<T>(T);
        // SAFETY: the value crosses threads as it does in a `DropAttached`: references, which only
        // attached threads drop.
        unsafe impl<T> Send for Deferred<T> {}

        let value = self.0.take().map(Deferred);
        match Attaching::begin() {
            Some(_attaching) => defer(value),
            None => core::mem::forget(value),
        }
    }
}

impl<T: 'static> Deref for DropAttached<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        match &self.0 {
            Some(value) => value,
            None => unreachable!("the value is dropped with the `DropAttached`"),
        }
    }
}

impl<T: 'static> Drop for DropAttached<T> {
    #[inline]
    fn drop(&mut self) {
        if !is_initialized() {
            return core::mem::forget(self.0.take());
        }
        // A thread that is attached stays attached while the interpreter finalizes. This does
        // not rely on PyO3's own state: PyO3 treats a thread that it attached itself as
        // attached, even if other code on the thread has detached since.
        if is_attached() {
            return self.drop_here();
        }
        // Its own section without the GIL has to end with a wait for the GIL anyway: PyTorch
        // frees memory in such a section, and the next statement may change the object.
        if has_thread_state() {
            return self.attach_and_drop();
        }
        self.defer();
    }
}

/// Imports a tensor whose producer is in Python.
///
/// # Errors
///
/// Those of [`ImportedTensor::from_raw`].
///
/// # Safety
///
/// 1. As for [`ImportedTensor::from_raw`].
#[inline(always)]
pub(in crate::python) unsafe fn adopt<A: Abi>(
    managed: *mut A,
    policy: ImportPolicy,
) -> PyResult<ImportedTensor> {
    // SAFETY: 1 (`managed` is valid): guaranteed by our caller's 1.
    let taken = unsafe { ImportedTensor::guarded(managed, policy, Some(release)) };
    taken.map_err(invalid)
}

/// Calls the deleter of a tensor that was imported from Python, on this thread if it is attached.
///
/// The deleter may wait for the GIL, also that of a tensor whose producer is not Python. Once the
/// interpreter has begun to finalize it is called at once, because it may not need to attach.
pub(in crate::python) fn release(release: Release) {
    if is_attached() {
        let mut release = Some(release);
        return preserve_exception(&mut || drop(release.take()));
    }
    match Attaching::begin() {
        Some(_attaching) if is_initialized() => defer(release),
        _ => drop(release),
    }
}

/// Whether Python has a state for this thread, which is then detached for a while: the main thread, or
/// one that Python created.
#[cold]
fn has_thread_state() -> bool {
    // SAFETY: any thread may call it while there is an interpreter, which the caller has checked.
    !unsafe { ffi::PyGILState_GetThisThreadState() }.is_null()
}

/// Whether there is an interpreter. Any thread may call it at any time.
fn is_initialized() -> bool {
    // SAFETY: any thread may call it at any time.
    unsafe { ffi::Py_IsInitialized() != 0 }
}

/// The value that was added last.
static LAST: AtomicPtr<Node> = AtomicPtr::new(ptr::null_mut());

/// Whether the interpreter will call [`drain_pending`].
static IS_SCHEDULED: AtomicBool = AtomicBool::new(false);

/// A value in the list, and the value that was added before it.
struct Node {
    before: *mut Node,
    value: Box<dyn Any + Send>,
}

/// Leaves the drop of a value to an attached thread. The value is leaked if memory for that cannot
/// be allocated.
///
/// The interpreter must be initialized, and must not end before this function returns: the caller
/// has an [`Attaching`](super::drop_attached::Attaching).
#[cold]
#[inline(never)]
pub(super) fn defer<T: Send + 'static>(value: T) {
    let (Some(place), Some(node)) = (try_place::<T>(), try_place()) else {
        return core::mem::forget(value);
    };
    let value = fill(place, value);
    let node = Box::into_raw(fill(node, Node { before: ptr::null_mut(), value }));
    let mut last = LAST.load(Ordering::Relaxed);
    loop {
        // SAFETY: the node was just allocated, and is not in the list yet.
        unsafe { (*node).before = last };
        match LAST.compare_exchange_weak(last, node, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => break,
            Err(found) => last = found,
        }
    }
    if !IS_SCHEDULED.swap(true, Ordering::AcqRel) {
        // SAFETY: any thread may call it while the interpreter is initialized.
        let failed = unsafe { ffi::Py_AddPendingCall(Some(drain_pending), ptr::null_mut()) } != 0;
        if failed {
            // The queue of the interpreter is full. The next import drops the values.
            IS_SCHEDULED.store(false, Ordering::Release);
        }
    }
}

/// Drops the values that threads have left.
#[inline]
pub(in crate::python) fn drain(_: Python<'_>) {
    if !LAST.load(Ordering::Relaxed).is_null() {
        drain_now();
    }
}

/// The destructors may run any code, so a pending exception is set aside, and one that they leave is
/// reported as unraisable.
///
/// The values belong to the first interpreter. A thread of another interpreter leaves them.
#[cold]
#[inline(never)]
fn drain_now() {
    if attached_to_first() == Some(false) {
        return;
    }
    let _ = try_attach(|py| {
        let _pending = PendingAside::reporting(py);
        let mut rest = LAST.swap(ptr::null_mut(), Ordering::Acquire);
        while !rest.is_null() {
            // SAFETY: `defer` made the node in a box. This function took the list, so no other
            // thread uses its nodes.
            let node = unsafe { Box::from_raw(rest) };
            rest = node.before;
            drop(node.value);
        }
    });
}

/// The function that the interpreter calls, attached, between two instructions of the main thread;
/// up to CPython 3.11 also one that is not the first.
extern "C" fn drain_pending(_: *mut c_void) -> c_int {
    IS_SCHEDULED.store(false, Ordering::Release);
    if is_attached() {
        drain_now();
    }
    0
}

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
        py.detach(|| {
            let since = Instant::now();
            while STATE.load(Ordering::Acquire) != ENDS && since.elapsed() < PATIENCE {
                std::thread::sleep(Duration::from_millis(1));
            }
        });
    }
    drain(py);
}
