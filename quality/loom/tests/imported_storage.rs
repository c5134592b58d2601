//! The owners of imported memory on several threads: only the last owner calls the deleter,
//! and it happens after all accesses of the others.
#![cfg(loom)]

mod producer;

use dlpack_traits::{DLPackExport, ImportedStorage, SharedBuffer, Storage};
use loom::thread;
use producer::Producer;

/// Three owners on as many threads, one of which makes another.
#[test]
fn the_last_owner_calls_the_deleter() {
    loom::model(|| {
        let producer = Producer::new();
        let one: ImportedStorage = ImportedStorage::new(producer.import()).unwrap();
        let threads: Vec<_> = (0..2)
            .map(|turn| {
                let (mine, used) = (one.clone(), producer.memory());
                thread::spawn(move || {
                    used.read();
                    if turn == 0 {
                        drop(mine.clone());
                        used.read();
                    }
                    drop(mine);
                })
            })
            .collect();
        producer.memory().read();
        drop(one);
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(producer.deleted(), 1);
    });
}

/// An export is an owner too.
#[test]
fn an_export_keeps_the_memory_alive() {
    loom::model(|| {
        let producer = Producer::new();
        let held: ImportedStorage = ImportedStorage::new(producer.import()).unwrap();
        let exports = [held.to_dlpack().unwrap(), held.into_dlpack().unwrap()];
        let threads = exports.map(|export| {
            let used = producer.memory();
            thread::spawn(move || {
                used.read();
                drop(export);
            })
        });
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(producer.deleted(), 1);
    });
}

/// The only remaining owner has synchronized with all others, and may write.
#[test]
fn the_only_owner_may_write() {
    loom::model(|| {
        let producer = Producer::new();
        let mut one: ImportedStorage = ImportedStorage::new(producer.import_own()).unwrap();
        let (other, used) = (one.clone(), producer.memory());
        let thread = thread::spawn(move || {
            used.read();
            drop(other);
        });
        if one.exclusive().is_ok() {
            producer.memory().write();
        }
        thread.join().unwrap();
        assert!(one.exclusive().is_ok(), "it is the only owner");
        producer.memory().write();
        drop(one);
        assert_eq!(producer.deleted(), 1);
    });
}

/// RefCount of memory of our own, shared with consumers.
#[test]
fn shared_buffers_are_accessed_without_races() {
    loom::model(|| {
        let buffer = SharedBuffer::<u8>::zeroed(1).unwrap();
        let threads: Vec<_> = (0..2)
            .map(|value| {
                let (mine, shared) = (buffer.clone(), buffer.share());
                thread::spawn(move || {
                    mine.store(0, value);
                    drop(mine);
                    drop(shared);
                })
            })
            .collect();
        drop(buffer);
        for thread in threads {
            thread.join().unwrap();
        }
    });
}
