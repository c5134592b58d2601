//! Deferred frees: values that cannot be freed now are dropped at the next allocation or
//! free ([`later`], [`work_off`]), or never ([`keep`]).

use alloc::boxed::Box;
use core::any::Any;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

/// Values whose destructors free memory.
static LATER: List = List::new();
/// Values that are never dropped. They are reachable from a static, so leak checkers do not
/// report them.
static KEPT: List = List::new();

/// Defers the drop of a value to the next allocation or free of any device's memory.
pub(super) fn later(value: impl Send + 'static) {
    LATER.push(Box::new(value));
}

/// Drops the values that [`later`] stored. The destructor of a value that still cannot be
/// freed pushes it to the list again.
#[inline]
pub(super) fn work_off() {
    if !LATER.is_empty() {
        LATER.drop_all();
    }
}

/// Leaks a value that pending work of a device may still use.
pub(super) fn keep(value: impl Send + 'static) {
    KEPT.push(Box::new(value));
}

/// A lock-free stack of values: a thread may push while another thread drops the values,
/// and a destructor may push.
struct List {
    latest: AtomicPtr<Entry>,
}

struct Entry {
    value: Box<dyn Any + Send>,
    before: *mut Entry,
}

impl List {
    const fn new() -> Self {
        Self { latest: AtomicPtr::new(ptr::null_mut()) }
    }

    fn is_empty(&self) -> bool {
        self.latest.load(Ordering::Relaxed).is_null()
    }

    fn push(&self, value: Box<dyn Any + Send>) {
        let mut before = self.latest.load(Ordering::Relaxed);
        let new = Box::into_raw(Box::new(Entry { value, before }));
        loop {
            // SAFETY: no other thread can reach the new entry until it is in the list.
            unsafe { (*new).before = before };
            let (order, failed) = (Ordering::Release, Ordering::Relaxed);
            match self.latest.compare_exchange_weak(before, new, order, failed) {
                Ok(_) => return,
                Err(latest) => before = latest,
            }
        }
    }

    fn drop_all(&self) {
        let mut next = self.latest.swap(ptr::null_mut(), Ordering::Acquire);
        while !next.is_null() {
            // SAFETY: `push` made it from a box, and the swap took the whole list, so no
            // other thread can reach it.
            let entry = unsafe { Box::from_raw(next) };
            next = entry.before;
            drop(entry.value);
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::sync::Arc;
    use std::thread;

    use super::*;

    /// A value whose destructor pushes it to the list again, a given number of times.
    struct Again(&'static List, usize, Arc<()>);

    impl Drop for Again {
        fn drop(&mut self) {
            if let Some(more) = self.1.checked_sub(1) {
                self.0.push(Box::new(Again(self.0, more, Arc::clone(&self.2))));
            }
        }
    }

    #[test]
    fn a_value_that_comes_back_is_tried_once_each_time() {
        static LIST: List = List::new();
        let counted = Arc::new(());
        LIST.push(Box::new(Again(&LIST, 2, Arc::clone(&counted))));
        LIST.push(Box::new(Again(&LIST, 0, Arc::clone(&counted))));
        assert_eq!(Arc::strong_count(&counted), 3);
        for left in [2, 2, 1] {
            LIST.drop_all();
            assert_eq!(Arc::strong_count(&counted), left);
        }
        assert!(LIST.is_empty());
    }

    #[test]
    fn threads_push_while_others_drop() {
        static LIST: List = List::new();
        let counted = Arc::new(());
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        LIST.push(Box::new(Arc::clone(&counted)));
                        LIST.drop_all();
                    }
                });
            }
        });
        assert!(LIST.is_empty());
        assert_eq!(Arc::strong_count(&counted), 1);
    }
}
