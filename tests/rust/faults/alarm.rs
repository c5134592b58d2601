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
    /// Allocations of at least as many bytes fail.
    static TOO_LARGE: Cell<usize> = const { Cell::new(usize::MAX) };
    /// Bytes of allocations less those of frees, and the most of them.
    static BYTES: Cell<[isize; 2]> = const { Cell::new([0; 2]) };
}

/// Whether this allocation is the one.
fn fails(bytes: usize) -> bool {
    // Without effect in a thread that is ending.
    if TOO_LARGE.try_with(Cell::get).is_ok_and(|most| bytes >= most) {
        return true;
    }
    LEFT.try_with(|left| {
        let before = left.get();
        left.set(before.saturating_sub(1));
        before == 1
    })
    .unwrap_or(false)
}

fn signed(size: usize) -> isize {
    isize::try_from(size).unwrap_or(isize::MAX)
}

fn count(more: isize, size: usize) {
    let _ = ALIVE.try_with(|alive| alive.set(alive.get() + more));
    count_bytes(more * signed(size));
}

fn count_bytes(more: isize) {
    let _ = BYTES.try_with(|bytes| {
        let [alive, most] = bytes.get();
        bytes.set([alive + more, most.max(alive + more)]);
    });
}

// SAFETY: every call is forwarded to the system's allocator unchanged, or fails, as any
// allocator may.
unsafe impl GlobalAlloc for Alarm {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if fails(layout.size()) {
            return ptr::null_mut();
        }
        count(1, layout.size());
        // SAFETY: the caller fulfills the contract of `GlobalAlloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        count(-1, layout.size());
        // SAFETY: the caller fulfills the contract of `GlobalAlloc`.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if fails(layout.size()) {
            return ptr::null_mut();
        }
        count(1, layout.size());
        // SAFETY: the caller fulfills the contract of `GlobalAlloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if fails(size) {
            return ptr::null_mut();
        }
        count_bytes(signed(size) - signed(layout.size()));
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

/// Runs a closure in which allocations of at least so many bytes fail.
pub(crate) fn without_large<R>(bytes: usize, run: impl FnOnce() -> R) -> R {
    TOO_LARGE.set(bytes);
    let result = run();
    TOO_LARGE.set(usize::MAX);
    result
}

/// The most bytes that a closure has allocated at once.
pub(crate) fn peak<R>(run: impl FnOnce() -> R) -> isize {
    let [before, _] = BYTES.get();
    BYTES.set([before, before]);
    drop(run());
    BYTES.get()[1] - before
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
