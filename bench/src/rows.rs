//! What is done with each contender: the rows of the table.

use std::hint::black_box;

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
    Entry { subject, allocations: Some(allocations) }
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
    Entry { subject, allocations: Some(allocations) }
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
    Entry { subject, allocations: Some(allocations) }
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
