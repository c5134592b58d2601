//! An append-only list of values, numbered from 0: [`AppendList`].

use alloc::boxed::Box;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

/// An append-only list, for a static. A lookup takes no lock.
#[derive(Debug)]
pub(super) struct AppendList<T: Send + Sync + 'static> {
    /// The latest entry; each points to the one before.
    latest: AtomicPtr<Entry<T>>,
}

struct Entry<T> {
    number: i32,
    value: T,
    before: *const Entry<T>,
}

impl<T: Send + Sync + 'static> AppendList<T> {
    pub(super) const fn new() -> Self {
        Self { latest: AtomicPtr::new(ptr::null_mut()) }
    }

    /// The value with that number.
    pub(super) fn get(&self, number: i32) -> Option<&'static T> {
        self.iter().find(|entry| entry.number == number).map(|entry| &entry.value)
    }

    /// The number of the first value that satisfies the predicate, the latest first.
    #[cfg(feature = "webgpu")]
    pub(super) fn number_of(&self, is_it: impl Fn(&T) -> bool) -> Option<i32> {
        self.iter().find(|entry| is_it(&entry.value)).map(|entry| entry.number)
    }

    /// All entries, the latest first.
    fn iter(&self) -> impl Iterator<Item = &'static Entry<T>> + use<T> {
        let mut next = self.latest.load(Ordering::Acquire).cast_const();
        core::iter::from_fn(move || {
            // SAFETY: an entry in the list is complete, and is neither changed nor freed.
            let entry = unsafe { next.as_ref::<'static>() }?;
            next = entry.before;
            Some(entry)
        })
    }

    /// Appends a value. The result is its number: 0, then 1, and so on.
    pub(super) fn add(&self, value: T) -> i32 {
        let mut before = self.latest.load(Ordering::Acquire);
        let mut new = Box::new(Entry { number: 0, value, before });
        loop {
            // SAFETY: an entry in the list is complete, and is neither changed nor freed.
            let latest = unsafe { before.as_ref() };
            let number = latest.map_or(0, |latest| latest.number.saturating_add(1));
            (new.number, new.before) = (number, before);
            let entry = Box::into_raw(new);
            let outcome =
                self.latest.compare_exchange(before, entry, Ordering::AcqRel, Ordering::Acquire);
            match outcome {
                Ok(_) => return number,
                Err(latest) => before = latest,
            }
            // SAFETY: `entry` was made from a box above, and was not added to the list.
            new = unsafe { Box::from_raw(entry) };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::vec::Vec;

    use super::*;

    #[test]
    fn each_value_has_a_number_of_its_own() {
        static KEPT: AppendList<usize> = AppendList::new();
        assert_eq!(KEPT.get(0), None);
        let threads: Vec<_> =
            (0..8).map(|value| thread::spawn(move || (value, KEPT.add(value)))).collect();
        let mut numbers = Vec::new();
        for thread in threads {
            let (value, number) = thread.join().expect("no panic");
            assert_eq!(KEPT.get(number), Some(&value));
            numbers.push(number);
        }
        numbers.sort_unstable();
        assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!((KEPT.get(8), KEPT.get(-1)), (None, None));
    }
}
