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
    before: *mut Entry<T>,
}

impl<T: Send + Sync> AppendList<T> {
    /// An empty list.
    pub(super) const fn new() -> Self {
        Self { latest: AtomicPtr::new(ptr::null_mut()) }
    }

    /// All values that are in the list now, the latest first.
    pub(super) fn iter(&self) -> Iter<'_, T> {
        Iter { next: self.latest.load(Ordering::Acquire), list: PhantomData }
    }

    /// Appends a value, unless `refuse` returns something about the values that are in the
    /// list, the latest first. Returns that.
    ///
    /// `refuse` is called again if another thread has appended meanwhile.
    pub(super) fn append_unless<R>(
        &self,
        value: T,
        mut refuse: impl FnMut(Iter<'_, T>) -> Option<R>,
    ) -> Option<R> {
        let mut new = Box::new(Entry { value, before: ptr::null_mut() });
        loop {
            let known = self.iter();
            new.before = known.next;
            if let Some(refused) = refuse(known) {
                return Some(refused);
            }
            let before = new.before;
            let entry = Box::into_raw(new);
            // Release: a thread that loads the entry sees its fields.
            let outcome =
                self.latest.compare_exchange(before, entry, Ordering::Release, Ordering::Relaxed);
            if outcome.is_ok() {
                return None;
            }
            // SAFETY: `entry` was made from a box above, and was not added to the list.
            new = unsafe { Box::from_raw(entry) };
        }
    }

    /// Appends a value. The result is its index: the number of values before it.
    #[cfg(any(feature = "vulkan", feature = "webgpu", test))]
    pub(super) fn append(&self, value: T) -> i32 {
        let mut index = 0;
        let refuse = |values: Iter<'_, T>| -> Option<core::convert::Infallible> {
            index = i32::try_from(values.count()).unwrap_or(i32::MAX);
            None
        };
        self.append_unless(value, refuse);
        index
    }

    /// The value with that index.
    #[cfg(any(feature = "vulkan", feature = "webgpu", test))]
    pub(super) fn get(&self, index: i32) -> Option<&T> {
        self.indexed().find(|&(at, _)| at == index).map(|(_, value)| value)
    }

    /// The index of a value that satisfies the predicate, the latest first.
    #[cfg(feature = "webgpu")]
    pub(super) fn index_of(&self, is_it: impl Fn(&T) -> bool) -> Option<i32> {
        self.indexed().find(|&(_, value)| is_it(value)).map(|(at, _)| at)
    }

    /// All values with their indices, the latest first.
    #[cfg(any(feature = "vulkan", feature = "webgpu", test))]
    fn indexed(&self) -> impl Iterator<Item = (i32, &T)> {
        let values = self.iter();
        let count = i32::try_from(values.clone().count()).unwrap_or(i32::MAX);
        (0..count).rev().zip(values)
    }
}

/// The values of a list from some entry on, the latest first.
pub(super) struct Iter<'a, T: Send + Sync> {
    /// NULL, or an entry in the list.
    next: *mut Entry<T>,
    list: PhantomData<&'a AppendList<T>>,
}

impl<T: Send + Sync> Clone for Iter<'_, T> {
    fn clone(&self) -> Self {
        Self { ..*self }
    }
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
            // SAFETY: `append_unless` made it from a box, and `&mut self` excludes other
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
    fn refused_and_dropped_values_are_freed() {
        let alive = Arc::new(());
        let list = AppendList::new();
        for _ in 0..3 {
            assert_eq!(list.append_unless(Arc::clone(&alive), |_| None::<()>), None);
        }
        let count = list.append_unless(Arc::clone(&alive), |values| Some(values.count()));
        assert_eq!((count, list.iter().count(), Arc::strong_count(&alive)), (Some(3), 3, 4));
        drop(list);
        assert_eq!(Arc::strong_count(&alive), 1);
    }
}
