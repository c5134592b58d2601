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
use core::ffi::{c_int, c_void};
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use pyo3::ffi;
use pyo3::prelude::*;

use crate::python::convert::{attached, try_attach};
use crate::python::interpreter::pending_exception::SavedError;
use crate::storage::{fill, try_place};

/// The value that was added last.
static LAST: AtomicPtr<Header> = AtomicPtr::new(ptr::null_mut());

/// Whether the interpreter will call [`drain_pending`].
static IS_SCHEDULED: AtomicBool = AtomicBool::new(false);

/// The part of a node that does not depend on the type of its value.
struct Header {
    before: *mut Header,
    /// Drops the node.
    drop: unsafe fn(NonNull<Header>),
}

/// A value in the list. The header is the first field, so that a pointer to it is a pointer to the
/// whole node.
#[repr(C)]
struct Node<T> {
    header: Header,
    value: T,
}

/// Drops a node.
///
/// # Safety
///
/// 1. `header` is that of a `Node<T>` in a box, which is not used again.
unsafe fn drop_node<T>(header: NonNull<Header>) {
    // SAFETY: by 1.
    let node = unsafe { Box::from_raw(header.cast::<Node<T>>().as_ptr()) };
    drop(node.value);
}

/// Leaves the drop of a value to an attached thread. The value is leaked if memory for that cannot
/// be allocated.
///
/// The interpreter must be initialized, and must not end before this function returns: the caller
/// has an [`Attaching`](super::exit::Attaching).
#[cold]
#[inline(never)]
pub(super) fn defer<T: Send + 'static>(value: T) {
    let Some(place) = try_place::<Node<T>>() else { return core::mem::forget(value) };
    let header = Header { before: ptr::null_mut(), drop: drop_node::<T> };
    let node = Box::into_raw(fill(place, Node { header, value })).cast::<Header>();
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

/// Drops the values that threads have left, in their order.
#[inline]
pub(in crate::python) fn drain(_: Python<'_>) {
    if !LAST.load(Ordering::Relaxed).is_null() {
        drain_now();
    }
}

/// The destructors may run any code, so a pending exception is set aside, and one that they leave is
/// reported as unraisable.
#[cold]
#[inline(never)]
fn drain_now() {
    let _ = try_attach(|py| {
        let pending = SavedError::set_aside(py);
        let mut rest = reversed(LAST.swap(ptr::null_mut(), Ordering::Acquire));
        while let Some(node) = NonNull::new(rest) {
            // SAFETY: this function took the list, so no other thread uses its nodes.
            let &Header { before, drop } = unsafe { node.as_ref() };
            rest = before;
            // SAFETY: 1. `defer` made the node with this function, and it left the list.
            unsafe { drop(node) };
        }
        pending.restore(py);
    });
}

/// Reverses a list that no other thread uses.
fn reversed(mut last: *mut Header) -> *mut Header {
    let mut first = ptr::null_mut();
    while !last.is_null() {
        // SAFETY: the node is alive, and no other thread uses it.
        let before = unsafe { core::mem::replace(&mut (*last).before, first) };
        (first, last) = (last, before);
    }
    first
}

/// The function that the interpreter calls between two instructions of the main thread.
extern "C" fn drain_pending(_: *mut c_void) -> c_int {
    IS_SCHEDULED.store(false, Ordering::Release);
    // SAFETY: 1. The interpreter calls it attached.
    drain(unsafe { attached() });
    0
}
