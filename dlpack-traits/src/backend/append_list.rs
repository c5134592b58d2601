//! A list that is read without a lock, and to which any thread can append:
//! [`AppendList`].

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
    /// The number of entries before it.
    index: i32,
    before: *mut Entry<T>,
}

impl<T: Send + Sync> AppendList<T> {
    /// An empty list.
    pub(super) const fn new() -> Self {
        Self { latest: AtomicPtr::new(ptr::null_mut()) }
    }

    /// All values that are in the list now, the latest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.entries().map(|entry| &entry.value)
    }

    fn entries(&self) -> Entries<'_, T> {
        Entries { next: self.latest.load(Ordering::Acquire), list: PhantomData }
    }

    /// Appends a value. The result is its index: the number of values before it.
    pub(super) fn append(&self, value: T) -> i32 {
        let mut new = Box::new(Entry { value, index: 0, before: ptr::null_mut() });
        loop {
            let mut entries = self.entries();
            new.before = entries.next;
            new.index = entries.next().map_or(0, |latest| latest.index.saturating_add(1));
            let (index, before) = (new.index, new.before);
            let entry = Box::into_raw(new);
            // Release: a thread that loads the entry sees its fields.
            let outcome =
                self.latest.compare_exchange(before, entry, Ordering::Release, Ordering::Relaxed);
            if outcome.is_ok() {
                return index;
            }
            // SAFETY: `entry` was made from a box above, and was not added to the list.
            new = unsafe { Box::from_raw(entry) };
        }
    }

    /// The value with that index.
    #[cfg(any(feature = "vulkan", feature = "webgpu", test))]
    pub(super) fn get(&self, index: i32) -> Option<&T> {
        self.entries().find(|entry| entry.index == index).map(|entry| &entry.value)
    }

    /// The index of a value that satisfies the predicate, the latest first.
    #[cfg(feature = "webgpu")]
    pub(super) fn index_of(&self, is_it: impl Fn(&T) -> bool) -> Option<i32> {
        self.entries().find(|entry| is_it(&entry.value)).map(|entry| entry.index)
    }
}

/// The entries of a list from one on, the latest first.
struct Entries<'a, T: Send + Sync> {
    /// NULL, or an entry in the list.
    next: *mut Entry<T>,
    list: PhantomData<&'a AppendList<T>>,
}

impl<'a, T: Send + Sync> Iterator for Entries<'a, T> {
    type Item = &'a Entry<T>;

    fn next(&mut self) -> Option<&'a Entry<T>> {
        // SAFETY: it is NULL or an entry in the list, which stays until the list, which is
        // borrowed, is dropped.
        let entry = unsafe { self.next.as_ref::<'a>() }?;
        self.next = entry.before;
        Some(entry)
    }
}

impl<T: Send + Sync> Drop for AppendList<T> {
    fn drop(&mut self) {
        let mut next = *self.latest.get_mut();
        while !next.is_null() {
            // SAFETY: `append` made it from a box, and `&mut self` excludes other
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
    fn each_value_has_its_own_index() {
        static LIST: AppendList<usize> = AppendList::new();
        assert_eq!(LIST.get(0), None);
        let threads: Vec<_> =
            (0..8).map(|value| thread::spawn(move || (value, LIST.append(value)))).collect();
        let mut indices = Vec::new();
        for thread in threads {
            let (value, index) = thread.join().expect("no panic");
            assert_eq!(LIST.get(index), Some(&value));
            indices.push(index);
        }
        indices.sort_unstable();
        assert_eq!(indices, [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!((LIST.get(8), LIST.get(-1)), (None, None));
    }

    #[test]
    fn dropped_values_are_freed() {
        let alive = Arc::new(());
        let list = AppendList::new();
        for index in 0..3 {
            assert_eq!(list.append(Arc::clone(&alive)), index);
        }
        assert_eq!((list.iter().count(), Arc::strong_count(&alive)), (3, 4));
        drop(list);
        assert_eq!(Arc::strong_count(&alive), 1);
    }
}
