//! Many threads, many exchanges: deletes equal exports, and memory stays flat.
//!
//! `DLPACK_LOAD=1000000 cargo test --release -p dlpack-tests --test faults load`
//! makes as many exchanges on each thread.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

use dlpack_tests::counted::{Drops, Owner};
use tensors::ffi::DLManagedTensorVersioned;
use tensors::{DLPackExport, Foreign, Imported, SharedBuffer};

use super::alarm::alive;

const THREADS: usize = 8;

/// Exchanges of each thread.
fn rounds() -> usize {
    let asked = std::env::var("DLPACK_LOAD").ok().and_then(|rounds| rounds.parse().ok());
    asked.unwrap_or(if cfg!(miri) { 4 } else { 20_000 })
}

/// Pages that this process has in memory.
fn resident() -> Option<usize> {
    // Miri's memory is not that of the process.
    if cfg!(miri) {
        return None;
    }
    if std::env::var_os("DLPACK_SANITIZED").is_some() {
        eprintln!("SKIPPED: resident memory, because a sanitizer keeps what is freed");
        return None;
    }
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    statm.split(' ').nth(1)?.parse().ok()
}

/// Runs something on all threads, half of it first, after which no memory is added
/// that grows with the number of exchanges.
fn under_load(exchange: impl Fn(usize) + Sync) {
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
    if let (Some(first), Some(second)) = (first, second) {
        // 4 MiB: the other tests of this process are running too.
        assert!(second < first + 1024, "from {first} to {second} pages");
    }
}

#[test]
fn exports() {
    let drops = Drops::new();
    under_load(|round| {
        let shape = [2, 3, 1, 1, 1, 1, 1, 1, 1];
        let owner = Owner::new(vec![round; 6], &shape[..2 + round % 8]).counted(&drops);
        drop(owner.into_dlpack().unwrap());
    });
    assert_eq!(drops.count(), rounds() / 2 * 2 * THREADS);
}

#[test]
fn shared_exports_of_one_object() {
    let drops = Drops::new();
    let buffer = SharedBuffer::<f32>::zeroed(6).unwrap();
    let owner = Owner::new(buffer, &[2, 3]).counted(&drops);
    let shared = Arc::new([0_u8; 6]);
    under_load(|round| {
        let tensor = owner.data.clone();
        tensor.store(round % 6, 1.0);
        drop(Owner::new(tensor, &[6]).to_dlpack().unwrap());
        drop(Owner::new(Arc::clone(&shared), &[3, 2]).to_dlpack().unwrap());
    });
    assert_eq!(drops.count(), 0);
    drop(owner);
    assert_eq!((drops.count(), Arc::strong_count(&shared)), (1, 1));
}

#[test]
fn imports() {
    let drops = Drops::new();
    under_load(|round| {
        let owner = Owner::new(vec![round; 6], &[2, 3]).counted(&drops);
        let raw: *mut DLManagedTensorVersioned = owner.into_dlpack().unwrap().into_raw();
        // SAFETY: it was just exported, and nobody else has it.
        let tensor = unsafe { Imported::from_raw(raw) }.unwrap();

        let held: Foreign = Foreign::new(tensor).unwrap();
        drop((held.to_dlpack().unwrap(), held.clone().into_dlpack().unwrap()));
    });
    assert_eq!(drops.count(), rounds() / 2 * 2 * THREADS);
}

/// Made on one thread, deleted on another.
#[test]
fn deleters_elsewhere() {
    let (drops, deleted) = (Drops::new(), AtomicUsize::new(0));
    let shared: Arc<[f32]> = Arc::from([0.0; 6]);
    thread::scope(|scope| {
        for _ in 0..THREADS / 2 {
            let (sender, receiver) = mpsc::sync_channel(64);
            let (drops, shared, deleted) = (&drops, &shared, &deleted);
            scope.spawn(move || {
                for _ in 0..rounds() {
                    let owner = Owner::new(Arc::clone(shared), &[6]).counted(drops);
                    sender.send(owner.into_dlpack().unwrap()).unwrap();
                }
            });
            scope.spawn(move || {
                for tensor in receiver {
                    drop(tensor);
                    deleted.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(deleted.into_inner(), rounds() * THREADS / 2);
    assert_eq!((drops.count(), Arc::strong_count(&shared)), (rounds() * THREADS / 2, 1));
}
