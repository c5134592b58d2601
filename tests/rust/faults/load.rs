//! Many threads, many exchanges: the number of deletes equals that of exports, and memory
//! does not grow.
//!
//! `DLPACK_LOAD=1000000 cargo test --release -p dlpack-tests --test faults load`
//! makes as many exchanges on each thread.

use std::sync::{Arc, mpsc};
use std::thread;

use dlpack_tests::counted::{Drops, Owner};
use tensors::ffi::DLManagedTensorVersioned;
use tensors::{DLPackExport, ImportedStorage, ImportedTensor, SharedBuffer};

use super::alarm::alive;

pub(super) const THREADS: usize = 8;

/// Exchanges of each thread.
fn rounds() -> usize {
    let asked = std::env::var("DLPACK_LOAD").ok().and_then(|rounds| rounds.parse().ok());
    asked.unwrap_or(if cfg!(miri) { 4 } else { 20_000 })
}

/// Pages that this process has in memory.
pub(super) fn resident() -> Option<usize> {
    // Miri's memory is not that of the process.
    if cfg!(miri) {
        return None;
    }
    if dlpack_tests::skips_under_a_sanitizer("resident memory") {
        return None;
    }
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    statm.split(' ').nth(1)?.parse().ok()
}

/// More pages than these are a leak.
fn spare() -> usize {
    // The other tests of this process run at the same time, unless a load is requested,
    // which runs alone.
    if std::env::var_os("DLPACK_LOAD").is_some() { 256 } else { 1024 }
}

/// Prints the measurements, and checks that memory did not grow between two moments.
pub(super) fn flat(what: &str, first: Option<usize>, second: Option<usize>) {
    if let (Some(first), Some(second)) = (first, second) {
        println!("{what}: {first} pages, then {second}");
        assert!(second < first + spare(), "{what}: from {first} to {second} pages");
    }
}

/// Runs something on all threads, half of it first, after which no memory is added
/// that grows with the number of exchanges.
fn under_load(what: &str, exchange: impl Fn(usize) + Sync) {
    let half = |begin: usize| {
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    let before = alive();
                    (begin..begin + rounds() / 2).for_each(&exchange);
                    assert_eq!(alive(), before, "something was lost");
                });
            }
        });
        resident()
    };
    let (first, second) = (half(0), half(rounds() / 2));
    flat(&format!("{what}, {THREADS} threads of {} rounds", rounds() / 2 * 2), first, second);
}

/// By value, and dropped.
pub(super) fn export(drops: &Drops, round: usize) {
    let shape = [2, 3, 1, 1, 1, 1, 1, 1, 1];
    let owner = Owner::new(vec![round; 6], &shape[..2 + round % 8]).counted(drops);
    drop(owner.into_dlpack().unwrap());
}

/// Memory with several owners.
pub(super) fn share(buffer: &SharedBuffer<f32>, shared: &Arc<[u8; 6]>, round: usize) {
    let tensor = buffer.clone();
    tensor.store(round % 6, 1.0);
    drop(Owner::new(tensor, &[6]).to_dlpack().unwrap());
    drop(Owner::new(Arc::clone(shared), &[3, 2]).to_dlpack().unwrap());
}

/// Imported, and exported again by two of its owners.
pub(super) fn import(drops: &Drops, round: usize) {
    let owner = Owner::new(vec![round; 6], &[2, 3]).counted(drops);
    let raw: *mut DLManagedTensorVersioned = owner.into_dlpack().unwrap().into_raw();
    // SAFETY: it was just exported and has no other owner.
    let tensor = unsafe { ImportedTensor::from_raw(raw) }.unwrap();

    let held: ImportedStorage = ImportedStorage::new(tensor).unwrap();
    drop((held.to_dlpack().unwrap(), held.clone().into_dlpack().unwrap()));
}

#[test]
fn threads_that_export_leak_nothing() {
    let drops = Drops::new();
    under_load("exports", |round| export(&drops, round));
    assert_eq!(drops.count(), rounds() / 2 * 2 * THREADS);
}

#[test]
fn threads_that_export_one_object_leak_nothing() {
    let drops = Drops::new();
    let buffer = SharedBuffer::<f32>::zeroed(6).unwrap();
    let owner = Owner::new(buffer, &[2, 3]).counted(&drops);
    let shared = Arc::new([0_u8; 6]);
    under_load("shared exports", |round| share(&owner.data, &shared, round));
    assert_eq!(drops.count(), 0);
    drop(owner);
    assert_eq!((drops.count(), Arc::strong_count(&shared)), (1, 1));
}

#[test]
fn threads_that_import_leak_nothing() {
    let drops = Drops::new();
    under_load("imports", |round| import(&drops, round));
    assert_eq!(drops.count(), rounds() / 2 * 2 * THREADS);
}

/// Made on one thread, deleted on another.
#[test]
fn deleters_on_other_threads_leak_nothing() {
    let drops = Drops::new();
    let shared: Arc<[f32]> = Arc::from([0.0; 6]);
    let half = || {
        let deleted: usize = thread::scope(|scope| {
            let pairs = [(); THREADS / 2].map(|()| {
                let (sender, receiver) = mpsc::sync_channel(64);
                let (drops, shared) = (&drops, &shared);
                scope.spawn(move || {
                    for _ in 0..rounds() {
                        let owner = Owner::new(Arc::clone(shared), &[6]).counted(drops);
                        sender.send(owner.into_dlpack().unwrap()).unwrap();
                    }
                });
                scope.spawn(move || receiver.into_iter().map(drop).count())
            });
            pairs.into_iter().map(|deleting| deleting.join().unwrap()).sum()
        });
        assert_eq!(deleted, rounds() * THREADS / 2);
        resident()
    };
    let (first, second) = (half(), half());
    let pairs = format!("deleters elsewhere, {} pairs of {} rounds", THREADS / 2, rounds() * 2);
    flat(&pairs, first, second);
    assert_eq!((drops.count(), Arc::strong_count(&shared)), (rounds() * THREADS, 1));
}
