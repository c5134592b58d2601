//! Drops values that belong to Python on a later attached thread: [`defer`], [`drain`].
//!
//! A thread that is not attached cannot drop them without a wait for the GIL, and the thread that
//! has the GIL may wait for it: `Vec<PyTensor>` with rayon's `into_par_iter`, without
//! `Python::detach`, never returned. Deleters of PyTorch and NumPy wait for the GIL too.
//!
//! The values are in a list to which any thread adds without a lock, so a fork finds it valid.
//! It is emptied by the next import or export, by a pending call on the main thread of Python, and
//! when the interpreter ends.

use alloc::boxed::Box;
use core::any::Any;
use core::ffi::{c_int, c_void};
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use pyo3::ffi;
use pyo3::prelude::*;

use crate::python::convert::try_attach;
use crate::python::interpreter::pending_exception::SavedError;
use crate::python::interpreter::symbols::{attached_to_first, is_attached};
use crate::storage::{fill, try_place};

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
/// has an [`Attaching`](super::exit::Attaching).
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
        let pending = SavedError::set_aside(py);
        let mut rest = LAST.swap(ptr::null_mut(), Ordering::Acquire);
        while !rest.is_null() {
            // SAFETY: `defer` made the node in a box. This function took the list, so no other
            // thread uses its nodes.
            let node = unsafe { Box::from_raw(rest) };
            rest = node.before;
            drop(node.value);
        }
        pending.restore(py);
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
