//! What is done with each contender: the rows of the table.

use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};

use dlpack_traits::ffi::DLManagedTensorVersioned;

use crate::contender::{Contender, LEN, Samples, Shares, delete, foreign};
use crate::counting::count;
use crate::measure::{BATCH, Subject, timed};
use crate::report::Entry;

/// Memory for a batch, made before the clock starts.
fn batch() -> Vec<Samples> {
    (0..BATCH).map(|_| Samples::new()).collect()
}

/// Export, then the deleter through its C pointer.
pub fn export<C: Contender + 'static>() -> Entry {
    let samples = Samples::new();
    let allocations = count(|| {
        let managed = C::export(samples);
        // SAFETY: just exported.
        unsafe { C::delete(black_box(managed)) };
    });
    let subject = Subject::new(C::NAME, || {
        let batch = batch();
        timed(|| {
            for samples in batch {
                let managed = C::export(samples);
                // SAFETY: just exported.
                unsafe { C::delete(black_box(managed)) };
            }
        })
    });
    Entry { subject, allocations: C::COUNTED.then_some(allocations) }
}

/// Import to a typed slice, and drop, of a struct whose deleter does nothing.
pub fn import<C: Contender + 'static>() -> Entry {
    let managed: *mut DLManagedTensorVersioned = foreign(Box::leak(Box::new([1.0; LEN])));
    let allocations = count(|| {
        // SAFETY: the struct may be taken again and again.
        black_box(unsafe { C::import(black_box(C::offer(managed))) });
    });
    let subject = Subject::new(C::NAME, move || {
        timed(|| {
            for _ in 0..BATCH {
                // SAFETY: the struct may be taken again and again.
                black_box(unsafe { C::import(black_box(C::offer(managed))) });
            }
        })
    });
    Entry { subject, allocations: C::COUNTED.then_some(allocations) }
}

/// Export, import to a typed slice, drop.
pub fn round_trip<C: Contender + 'static>() -> Entry {
    let samples = Samples::new();
    let allocations = count(|| {
        let managed = C::export(samples);
        // SAFETY: just exported.
        black_box(unsafe { C::import(black_box(managed)) });
    });
    let subject = Subject::new(C::NAME, || {
        let batch = batch();
        timed(|| {
            for samples in batch {
                let managed = C::export(samples);
                // SAFETY: just exported.
                black_box(unsafe { C::import(black_box(managed)) });
            }
        })
    });
    Entry { subject, allocations: C::COUNTED.then_some(allocations) }
}

/// Export of one shared owner, again and again, then the deleter.
pub fn shared<C: Shares + 'static>() -> Entry {
    let owner = C::owner(Samples::new());
    let allocations = count(|| {
        let managed = C::export_shared(&owner);
        // SAFETY: just exported.
        unsafe { delete(black_box(managed)) };
    });
    let subject = Subject::new(C::NAME_SHARED, move || {
        timed(|| {
            for _ in 0..BATCH {
                let managed = C::export_shared(black_box(&owner));
                // SAFETY: just exported.
                unsafe { delete(black_box(managed)) };
            }
        })
    });
    Entry { subject, allocations: Some(allocations) }
}

/// Locked operations on one word alone: the minimum cost of claiming and returning a struct
/// that any thread may claim or return.
pub fn locked<const TIMES: usize>(name: &str) -> Entry {
    let word = AtomicUsize::new(2);
    let subject = Subject::new(name, move || {
        timed(|| {
            for turn in 0..BATCH * TIMES {
                let word = black_box(&word);
                black_box(if turn % 2 == 0 {
                    word.fetch_or(1, Ordering::Acquire) & 1 == 0
                } else {
                    word.fetch_sub(1, Ordering::Release) == 1
                });
            }
        })
    });
    Entry { subject, allocations: Some((0, 0)) }
}
