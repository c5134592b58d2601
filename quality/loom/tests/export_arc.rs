//! The atomic word that counts the owners of an `ExportArc`, as it is in the crate,
//! around a block whose every access loom watches.

#![cfg(loom)]

/// Where the crate takes its atomics from.
mod atomic {
    pub(crate) use loom::sync::atomic::{AtomicUsize, Ordering};
}

#[path = "../../../dlpack-traits/src/refcount.rs"]
#[allow(dead_code, reason = "a model needs some of it")]
mod owners;

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

use owners::RefCount;

/// A block: the word, the C struct, and the value.
struct Block {
    owners: RefCount,
    managed: UnsafeCell<usize>,
    /// Written when it is dropped or changed, so that no reader may be left.
    value: UnsafeCell<usize>,
    drops: AtomicUsize,
}

/// A handle, in the memory of an `Arc`, which outlives the block.
struct Handle(Arc<Block>);

impl Handle {
    fn new() -> Self {
        Self(Arc::new(Block {
            owners: RefCount::one(),
            managed: UnsafeCell::new(0),
            value: UnsafeCell::new(0),
            drops: AtomicUsize::new(0),
        }))
    }

    fn again(&self) -> Self {
        assert!(self.0.owners.add());
        Self(Arc::clone(&self.0))
    }

    fn read(&self) {
        // SAFETY: loom finds out.
        self.0.value.with(|value| unsafe { assert_eq!(*value, 0) });
    }

    /// Exports in place, if the block is free: the struct is written.
    fn lend(&self) -> Option<Lent> {
        self.0.owners.lend().then(|| {
            // SAFETY: loom finds out.
            self.0.managed.with_mut(|managed| unsafe { *managed += 1 });
            Lent(Arc::clone(&self.0))
        })
    }

    fn remove(self) {
        if self.0.owners.remove() {
            free(&self.0);
        }
    }
}

/// The consumer.
struct Lent(Arc<Block>);

impl Lent {
    /// Reads the elements, then the struct, and calls the deleter.
    fn finish(self) {
        // SAFETY: loom finds out.
        self.0.value.with(|value| unsafe { assert_eq!(*value, 0) });
        // The consumer owns the struct and may write to it.
        // SAFETY: loom reports a race.
        self.0.managed.with_mut(|managed| unsafe { *managed += 1 });
        if self.0.owners.give_back() {
            free(&self.0);
        }
    }
}

fn free(block: &Block) {
    // SAFETY: loom finds out.
    block.managed.with_mut(|managed| unsafe { *managed = 0 });
    // SAFETY: loom finds out.
    block.value.with_mut(|value| unsafe { *value = 1 });
    block.drops.fetch_add(1, Ordering::Relaxed);
}

fn freed_once(block: &Block) {
    assert_eq!(block.drops.load(Ordering::Relaxed), 1);
}

/// A handle on each of two threads, a consumer on a third.
#[test]
fn the_last_owner_frees_the_block() {
    loom::model(|| {
        let handle = Handle::new();
        let block = Arc::clone(&handle.0);
        let consumer = handle.lend().expect("it is not exported");
        let other = handle.again();
        let threads = [
            thread::spawn(move || consumer.finish()),
            thread::spawn(move || {
                other.read();
                other.remove();
            }),
        ];
        handle.read();
        handle.remove();
        for thread in threads {
            thread.join().unwrap();
        }
        freed_once(&block);
    });
}

/// Two threads export in place; the deleter of one runs on a third.
#[test]
fn the_block_is_lent_once_at_a_time() {
    loom::model(|| {
        let handle = Handle::new();
        let block = Arc::clone(&handle.0);
        let other = handle.again();
        let thread = thread::spawn(move || {
            let lent = other.lend();
            other.remove();
            if let Some(lent) = lent {
                lent.finish();
            }
        });
        if let Some(lent) = handle.lend() {
            let deleter = thread::spawn(move || lent.finish());
            // Maybe it is free again.
            if let Some(lent) = handle.lend() {
                lent.finish();
            }
            deleter.join().unwrap();
        }
        handle.remove();
        thread.join().unwrap();
        freed_once(&block);
    });
}

/// The only owner may change the value.
#[test]
fn the_only_owner_may_change_the_value() {
    loom::model(|| {
        let handle = Handle::new();
        let block = Arc::clone(&handle.0);
        let other = handle.again();
        let consumer = handle.lend().expect("it is not exported");
        let threads = [
            thread::spawn(move || consumer.finish()),
            thread::spawn(move || {
                other.read();
                other.remove();
            }),
        ];
        if handle.0.owners.is_one() {
            // SAFETY: loom finds out.
            handle.0.value.with_mut(|value| unsafe {
                *value = 1;
                *value = 0;
            });
        }
        handle.remove();
        for thread in threads {
            thread.join().unwrap();
        }
        freed_once(&block);
    });
}
