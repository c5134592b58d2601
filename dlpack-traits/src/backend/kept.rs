//! Values that a process keeps for good, by numbers: [`Kept`].

use alloc::boxed::Box;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

/// A list that only grows, for a static. Looking up takes no lock.
#[derive(Debug)]
pub(super) struct Kept<T: Send + Sync + 'static> {
    /// The latest; each knows the one before.
    latest: AtomicPtr<Entry<T>>,
}

struct Entry<T> {
    number: i32,
    value: T,
    before: *const Entry<T>,
}

impl<T: Send + Sync + 'static> Kept<T> {
    pub(super) const fn new() -> Self {
        Self { latest: AtomicPtr::new(ptr::null_mut()) }
    }

    /// The value of that number.
    pub(super) fn get(&self, number: i32) -> Option<&'static T> {
        self.iter().find(|entry| entry.number == number).map(|entry| &entry.value)
    }

    /// The number of a value, if there is such a one.
    #[cfg(feature = "webgpu")]
    pub(super) fn number_of(&self, is_it: impl Fn(&T) -> bool) -> Option<i32> {
        self.iter().find(|entry| is_it(&entry.value)).map(|entry| entry.number)
    }

    /// The latest first.
    fn iter(&self) -> impl Iterator<Item = &'static Entry<T>> + use<T> {
        let mut next = self.latest.load(Ordering::Acquire).cast_const();
        core::iter::from_fn(move || {
            // SAFETY: an entry in the list is complete, and neither changes nor goes.
            let entry = unsafe { next.as_ref::<'static>() }?;
            next = entry.before;
            Some(entry)
        })
    }

    /// Adds a value, for good. The result is its number: 0, then 1, and so on.
    pub(super) fn add(&self, value: T) -> i32 {
        let mut before = self.latest.load(Ordering::Acquire);
        let mut new = Box::new(Entry { number: 0, value, before });
        loop {
            // SAFETY: as above.
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
            // SAFETY: it was made of a box above, and did not get into the list.
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
        static KEPT: Kept<usize> = Kept::new();
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
