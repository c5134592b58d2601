//! Counts the heap allocations of this module.

use core::alloc::{GlobalAlloc, Layout};
use core::ptr;
use core::sync::atomic::{AtomicIsize, Ordering};
use std::alloc::System;

use pyo3::prelude::*;

/// The system's allocator, with a count.
struct Counting;

#[global_allocator]
static HEAP: Counting = Counting;

static ALLOCATIONS: AtomicIsize = AtomicIsize::new(0);

/// How many allocations of this module have not been freed. Every export is
/// one, whatever owns it, so this finds any leak to the last byte.
#[pyfunction]
pub(crate) fn allocations() -> isize {
    ALLOCATIONS.load(Ordering::SeqCst)
}

/// How many allocations come before the one that fails; negative if none does.
static UNTIL_FAILURE: AtomicIsize = AtomicIsize::new(-1);

/// Lets one allocation of this module fail: the next one, or after as many others.
#[pyfunction]
pub(crate) fn fail_allocation(after: isize) {
    UNTIL_FAILURE.store(after, Ordering::SeqCst);
}

/// Whether this allocation is the one that fails.
fn fails() -> bool {
    UNTIL_FAILURE.load(Ordering::Relaxed) >= 0 && UNTIL_FAILURE.fetch_sub(1, Ordering::SeqCst) == 0
}

// SAFETY: every call is forwarded to the system's allocator unchanged, or fails.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if fails() {
            return ptr::null_mut();
        }
        // SAFETY: the caller fulfills the contract of `GlobalAlloc`.
        let block = unsafe { System.alloc(layout) };
        ALLOCATIONS.fetch_add(isize::from(!block.is_null()), Ordering::SeqCst);
        block
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller fulfills the contract of `GlobalAlloc`.
        let block = unsafe { System.alloc_zeroed(layout) };
        ALLOCATIONS.fetch_add(isize::from(!block.is_null()), Ordering::SeqCst);
        block
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: the caller fulfills the contract of `GlobalAlloc`.
        unsafe { System.realloc(block, layout, new_size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        ALLOCATIONS.fetch_sub(1, Ordering::SeqCst);
        // SAFETY: the caller fulfills the contract of `GlobalAlloc`.
        unsafe { System.dealloc(block, layout) }
    }
}
