//! A list that is read without a lock, and to which any thread can append:
//! [`AppendList`].
//!
//! It is not a `Mutex` around a `Vec`, because this crate has no lock without `std`, and because a hit
//! allocates nothing: each hand-off to a consumer reads the streams of a tensor.

use alloc::boxed::Box;
use core::fmt;
use core::marker::PhantomData;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

/// An append-only list. Neither a lookup nor an append takes a lock.
pub(super) struct AppendList<T: Send + Sync> {
    /// The latest entry; each points to the one before. An entry in the list is complete,
    /// and is neither changed nor freed until the list is dropped.
    latest: AtomicPtr<Entry<T>>,
}

struct Entry<T> {
    value: T,
    before: *mut Entry<T>,
}

impl<T: Send + Sync> AppendList<T> {
    /// An empty list.
    pub(super) const fn new() -> Self {
        Self { latest: AtomicPtr::new(ptr::null_mut()) }
    }

    /// All values that are in the list now, the latest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        Iter { next: self.latest.load(Ordering::Acquire), list: PhantomData }
    }

    /// Appends a value.
    pub(super) fn append(&self, value: T) {
        let new = Box::leak(Box::new(Entry { value, before: ptr::null_mut() }));
        let mut latest = self.latest.load(Ordering::Acquire);
        loop {
            new.before = latest;
            // Release: a thread that loads the entry sees its fields.
            let (release, acquire) = (Ordering::Release, Ordering::Acquire);
            match self.latest.compare_exchange(latest, ptr::from_mut(new), release, acquire) {
                Ok(_) => return,
                Err(other) => latest = other,
            }
        }
    }
}

/// The values of a list, the latest first.
struct Iter<'a, T: Send + Sync> {
    /// NULL, or an entry in the list.
    next: *mut Entry<T>,
    list: PhantomData<&'a AppendList<T>>,
}

impl<'a, T: Send + Sync> Iterator for Iter<'a, T> {
    type Item = &'a T;

    fn next(&mut self) -> Option<&'a T> {
        // SAFETY: it is NULL or an entry in the list, which stays until the list, which is
        // borrowed, is dropped.
        let entry = unsafe { self.next.as_ref::<'a>() }?;
        self.next = entry.before;
        Some(&entry.value)
    }
}

impl<T: Send + Sync> Drop for AppendList<T> {
    fn drop(&mut self) {
        let mut next = *self.latest.get_mut();
        while !next.is_null() {
            // SAFETY: `append` leaked it from a box, and `&mut self` excludes other
            // users of the list.
            let entry = unsafe { Box::from_raw(next) };
            next = entry.before;
        }
    }
}

impl<T: Send + Sync + fmt::Debug> fmt::Debug for AppendList<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use alloc::sync::Arc;
    use std::thread;
    use std::vec::Vec;

    use super::*;

    #[test]
    fn values_of_all_threads_are_kept() {
        static LIST: AppendList<usize> = AppendList::new();
        assert_eq!(LIST.iter().next(), None);
        let threads: Vec<_> =
            (0..8).map(|value| thread::spawn(move || LIST.append(value))).collect();
        for thread in threads {
            thread.join().expect("no panic");
        }
        let mut values: Vec<_> = LIST.iter().copied().collect();
        values.sort_unstable();
        assert_eq!(values, [0, 1, 2, 3, 4, 5, 6, 7]);
        LIST.append(8);
        assert_eq!(LIST.iter().next(), Some(&8));
    }

    #[test]
    fn dropped_values_are_freed() {
        let alive = Arc::new(());
        let list = AppendList::new();
        (0..3).for_each(|_| list.append(Arc::clone(&alive)));
        assert_eq!((list.iter().count(), Arc::strong_count(&alive)), (3, 4));
        drop(list);
        assert_eq!(Arc::strong_count(&alive), 1);
    }
}
