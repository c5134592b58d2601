//! The system's allocator, which fails on request.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::Cell;
use core::ptr;
use std::alloc::System;

/// Counts for each thread: the test harness has threads of its own.
pub(crate) struct Alarm;

thread_local! {
    /// How many allocations are left until one fails; none while it is 0.
    static LEFT: Cell<usize> = const { Cell::new(0) };
    /// Allocations less frees.
    static ALIVE: Cell<isize> = const { Cell::new(0) };
}

/// Whether this allocation is the one.
fn fails() -> bool {
    // Without effect in a thread that is ending.
    LEFT.try_with(|left| {
        let before = left.get();
        left.set(before.saturating_sub(1));
        before == 1
    })
    .unwrap_or(false)
}

fn count(more: isize) {
    let _ = ALIVE.try_with(|alive| alive.set(alive.get() + more));
}

// SAFETY: every call is forwarded to the system's allocator unchanged, or fails, as any
// allocator may.
unsafe impl GlobalAlloc for Alarm {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if fails() {
            return ptr::null_mut();
        }
        count(1);
        // SAFETY: the caller fulfills the contract of `GlobalAlloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        count(-1);
        // SAFETY: the caller fulfills the contract of `GlobalAlloc`.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if fails() {
            return ptr::null_mut();
        }
        count(1);
        // SAFETY: the caller fulfills the contract of `GlobalAlloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if fails() {
            return ptr::null_mut();
        }
        // SAFETY: the caller fulfills the contract of `GlobalAlloc`.
        unsafe { System.realloc(memory, layout, size) }
    }
}

/// Runs a closure with each of its allocations failing in turn, and then with
/// none. Allocations of `begin` do not fail. Every run leaves as many allocations
/// as before; `judge` checks the last one for success.
///
/// Returns the number of allocations.
pub(crate) fn each_fails<S, R>(
    begin: impl Fn() -> S,
    run: impl Fn(S) -> R,
    judge: impl Fn(R, bool),
) -> usize {
    for nth in 1..1000 {
        let alive = ALIVE.get();
        let start = begin();
        LEFT.set(nth);
        let result = run(start);
        let left = LEFT.replace(0);
        judge(result, left == 0);
        assert_eq!(ALIVE.get(), alive, "allocation {nth} failed, and something was lost");
        if left > 0 {
            return nth - 1;
        }
    }
    panic!("there are too many allocations");
}

/// Runs a closure whose allocations do not fail.
pub(crate) fn in_peace<R>(run: impl FnOnce() -> R) -> R {
    let left = LEFT.replace(0);
    let result = run();
    LEFT.set(left);
    result
}

/// Allocations of this thread that are not freed.
pub(crate) fn alive() -> isize {
    ALIVE.get()
}

#[test]
fn the_alarm_fails_one_allocation_and_counts() {
    let box_of_one = || {
        let mut one = Vec::<u8>::new();
        one.try_reserve_exact(1).map(|()| one)
    };
    let failures = each_fails(
        || (),
        |()| [box_of_one(), box_of_one()],
        |made, failed| {
            assert_eq!(made.iter().filter(|made| made.is_err()).count(), usize::from(failed));
        },
    );
    assert_eq!(failures, 2);
    assert_eq!(in_peace(alive), alive());
}
