//! Who keeps a block alive, in one word: [`Owners`].
//!
//! It is a file of its own, and names nothing of the crate but its atomics, so that
//! `tests/loom` can take it as it stands, around a block whose every access it watches.

use crate::sync::{AtomicUsize, Ordering};

/// The handles to a block, and whether it is lent to a consumer. Each of them keeps
/// it alive.
#[derive(Debug)]
pub(crate) struct Owners(AtomicUsize);

/// The lowest bit says that it is lent; what is above counts handles.
const LENT: usize = 1;
const HANDLE: usize = 2;

/// With more handles than that, some have been forgotten, not dropped.
const MOST: usize = isize::MAX.unsigned_abs();

impl Owners {
    /// One handle.
    pub(crate) fn one() -> Self {
        Self(AtomicUsize::new(HANDLE))
    }

    /// One handle more, on behalf of one that is there. False: there are too many.
    #[inline]
    pub(crate) fn add(&self) -> bool {
        // Relaxed: whoever makes a handle has one.
        let before = self.0.fetch_add(HANDLE, Ordering::Relaxed);
        if before > MOST {
            self.0.fetch_sub(HANDLE, Ordering::Relaxed);
        }
        before <= MOST
    }

    /// One handle less. True: nobody is left, and the block is the caller's to free.
    /// False: it may be gone already.
    #[inline]
    pub(crate) fn remove(&self) -> bool {
        self.leave(HANDLE)
    }

    /// Lends the block, on behalf of a handle. False: somebody else has it.
    #[inline]
    pub(crate) fn lend(&self) -> bool {
        // Acquire: the consumer before is done with the struct.
        self.0.fetch_or(LENT, Ordering::Acquire) & LENT == 0
    }

    /// The end of a lend. True and false are those of [`remove`](Self::remove).
    #[inline]
    pub(crate) fn give_back(&self) -> bool {
        self.leave(LENT)
    }

    /// Whether there is one handle, and nothing is lent.
    #[inline]
    pub(crate) fn is_one(&self) -> bool {
        // Acquire: what the others did, they did before they went.
        self.0.load(Ordering::Acquire) == HANDLE
    }

    #[inline]
    fn leave(&self, part: usize) -> bool {
        // Release: whoever is last finds done what this one did.
        let last = self.0.fetch_sub(part, Ordering::Release) == part;
        if last {
            // Acquire, by a load: of a fence ThreadSanitizer knows nothing.
            self.0.load(Ordering::Acquire);
        }
        last
    }
}

// Not of loom's atomics, which are none outside of a model.
#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    #[test]
    fn handles_can_be_forgotten_without_end() {
        let owners = Owners(AtomicUsize::new(MOST));
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
