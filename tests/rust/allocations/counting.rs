//! An allocator that counts the allocations of each thread: [`counting`].

use core::alloc::{GlobalAlloc, Layout as Size};
use core::cell::Cell;
use std::alloc::System;

/// The system's allocator, counting for each thread: the test harness has
/// threads of its own.
struct Counting;

thread_local! {
    static ALLOCATED: Cell<usize> = const { Cell::new(0) };
    static FREED: Cell<usize> = const { Cell::new(0) };
    /// Bytes of the allocations.
    pub(crate) static BYTES: Cell<usize> = const { Cell::new(0) };
}

fn count(counter: &'static std::thread::LocalKey<Cell<usize>>) {
    add(counter, 1);
}

fn add(counter: &'static std::thread::LocalKey<Cell<usize>>, more: usize) {
    // Without effect in a thread that is ending.
    let _ = counter.try_with(|count| count.set(count.get() + more));
}

// SAFETY: every call is forwarded to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Size) -> *mut u8 {
        count(&ALLOCATED);
        add(&BYTES, layout.size());
        // SAFETY: the caller fulfills the contract of `GlobalAlloc`.
        let memory = unsafe { System.alloc(layout) };
        if !memory.is_null() {
            // Uninitialized memory must not be zero by chance.
            // SAFETY: it is that long, and has no other user yet.
            unsafe { memory.write_bytes(0xA5, layout.size()) };
        }
        memory
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Size) {
        count(&FREED);
        // SAFETY: the caller fulfills the contract of `GlobalAlloc`.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Size) -> *mut u8 {
        count(&ALLOCATED);
        add(&BYTES, layout.size());
        // SAFETY: the caller fulfills the contract of `GlobalAlloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Size, size: usize) -> *mut u8 {
        count(&ALLOCATED);
        count(&FREED);
        add(&BYTES, size);
        // SAFETY: the caller fulfills the contract of `GlobalAlloc`.
        unsafe { System.realloc(memory, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Returns the result of `f`, and the numbers of allocations and frees during it.
pub(crate) fn counting<R>(f: impl FnOnce() -> R) -> (R, usize, usize) {
    let (allocated, freed) = (ALLOCATED.get(), FREED.get());
    let result = f();
    (result, ALLOCATED.get() - allocated, FREED.get() - freed)
}
