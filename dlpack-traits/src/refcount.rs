//! The reference count of an allocation, in one word: [`RefCount`].
//!
//! This module uses no other item of the crate than its atomics, so that `quality/loom` can
//! include the file unchanged, and check every access to a block around it.

use crate::atomic::{AtomicUsize, Ordering};

/// The number of handles to a block, and whether it is lent to a consumer. Each handle, and
/// the consumer, keeps the block alive. A block that is never lent has handles only.
#[derive(Debug)]
pub(crate) struct RefCount(AtomicUsize);

/// The lowest bit is set while the block is lent; the higher bits count handles.
const LENT: usize = 1;
const HANDLE: usize = 2;

/// The maximum count. More handles can exist only if handles have been forgotten.
const MOST: usize = isize::MAX.unsigned_abs();

impl RefCount {
    /// The count of a new block: one handle.
    pub(crate) fn one() -> Self {
        Self(AtomicUsize::new(HANDLE))
    }

    /// Adds a handle, on behalf of an existing one. Returns false if there are too many.
    #[inline(always)]
    pub(crate) fn add(&self) -> bool {
        // Relaxed: the thread that makes a handle already has one.
        if self.0.fetch_add(HANDLE, Ordering::Relaxed) <= MOST {
            return true;
        }
        self.0.fetch_sub(HANDLE, Ordering::Relaxed);
        false
    }

    /// Removes a handle. Returns true if it was the last owner: the caller must free the
    /// block. After false the block may already be freed.
    #[inline(always)]
    pub(crate) fn remove(&self) -> bool {
        self.leave(HANDLE)
    }

    /// Lends the block, on behalf of a handle. Returns false if it is already lent.
    #[inline]
    pub(crate) fn lend(&self) -> bool {
        // Acquire: the previous consumer has finished with the struct.
        self.0.fetch_or(LENT, Ordering::Acquire) & LENT == 0
    }

    /// Ends a lend. The result is as for [`remove`](Self::remove).
    #[inline]
    pub(crate) fn give_back(&self) -> bool {
        self.leave(LENT)
    }

    /// Whether there is exactly one handle, and the block is not lent.
    #[inline]
    pub(crate) fn is_one(&self) -> bool {
        // Acquire: the operations of other owners happened before their release.
        self.0.load(Ordering::Acquire) == HANDLE
    }

    /// Sets the word.
    #[cfg(test)]
    pub(crate) fn set(&self, word: usize) {
        self.0.store(word, Ordering::Relaxed);
    }

    #[inline(always)]
    fn leave(&self, part: usize) -> bool {
        // Release: the operations of this owner happen before the last owner's drop.
        let last = self.0.fetch_sub(part, Ordering::Release) == part;
        if last {
            // Acquire by a load, because ThreadSanitizer does not support fences.
            self.0.load(Ordering::Acquire);
        }
        last
    }
}

// Not compiled with loom's atomics, which work only inside of a model.
#[cfg(not(loom))]
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_can_be_forgotten_without_end() {
        let owners = RefCount(AtomicUsize::new(MOST));
        assert!(owners.add(), "the last one that there may be");
        let full = MOST.wrapping_add(HANDLE);
        assert_eq!(owners.0.load(Ordering::Relaxed), full);
        for _ in 0..3 {
            assert!(!owners.add());
            assert_eq!(owners.0.load(Ordering::Relaxed), full);
        }
        assert!(!owners.remove());
        assert!(owners.add());
    }
}
