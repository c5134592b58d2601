//! Frees, on any thread: waits in them, around which Python detaches from the interpreter
//! ([`run_blocking`]), and values that cannot be freed now. Those are dropped at the next allocation
//! or free ([`later`], [`work_off`]), or never ([`keep`]).
//!
//! The hook is used around waits only, because a thread that detaches may have to wait for
//! the GIL again. Without it, a free by a thread with the GIL hung if the device's work
//! called Python (`cupy.cuda.Stream.launch_host_func`).

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::any::Any;
use core::mem::ManuallyDrop;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::error::Error;

/// Calls the closure, which waits, exactly once, so that other threads can run
/// meanwhile.
pub(crate) type BlockingHook = fn(&mut (dyn FnMut() + Send));

/// Set by the Python glue, to release the GIL during a wait.
static AROUND: AtomicPtr<BlockingHook> = AtomicPtr::new(ptr::null_mut());

/// Makes all later waits in frees and copies go through `around`.
#[cfg(feature = "pyo3")]
pub(crate) fn set_blocking_hook(around: &'static BlockingHook) {
    AROUND.store(ptr::from_ref(around).cast_mut(), Ordering::Release);
}

/// Waits for a device in a free or a copy. A thread that frees a Python object, calls a
/// deleter or copies in a Python function may hold the GIL, while the device waits for
/// another thread that needs it.
pub(super) fn run_blocking(
    wait: impl Fn() -> Result<(), Error> + Send + Sync,
) -> Result<(), Error> {
    // SAFETY: the pointer is NULL or comes from the `&'static` that `set_blocking_hook`
    // stored.
    let Some(around) = (unsafe { AROUND.load(Ordering::Acquire).as_ref() }) else {
        return wait();
    };
    let mut outcome = None;
    around(&mut || outcome = Some(wait()));
    outcome.unwrap_or_else(wait)
}

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

/// A list of values without a lock: a thread may push while another thread drops the values, and
/// a destructor may push.
///
/// A thread takes all values before it changes them. So the pointer is only exchanged for NULL or
/// from NULL, and a list that was freed meanwhile is not mistaken for another one at its address.
struct List(AtomicPtr<Values>);

type Values = Vec<Box<dyn Any + Send>>;

impl List {
    const fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    fn is_empty(&self) -> bool {
        self.0.load(Ordering::Relaxed).is_null()
    }

    /// Takes all values out of the list.
    fn take(&self) -> Option<Box<Values>> {
        let values = self.0.swap(ptr::null_mut(), Ordering::Acquire);
        // SAFETY: `put` made it from a box, and the swap took it, so no other thread has it.
        (!values.is_null()).then(|| unsafe { Box::from_raw(values) })
    }

    /// Puts values into the list, if it is empty; otherwise returns them.
    fn put(&self, values: Box<Values>) -> Result<(), Box<Values>> {
        let values = Box::into_raw(values);
        let (order, failed) = (Ordering::Release, Ordering::Relaxed);
        match self.0.compare_exchange(ptr::null_mut(), values, order, failed) {
            Ok(_) => Ok(()),
            // SAFETY: it was made from a box above, and is not in the list.
            Err(_) => Err(unsafe { Box::from_raw(values) }),
        }
    }

    fn push(&self, value: Box<dyn Any + Send>) {
        let mut values = self.take().unwrap_or_default();
        values.push(value);
        while let Err(mut again) = self.put(values) {
            // Another thread has put values there meanwhile.
            again.extend(self.take().into_iter().flat_map(|others| *others));
            values = again;
        }
    }

    /// Drops all values. If a destructor panics, the rest leaks: a second panic would end the
    /// process.
    fn drop_all(&self) {
        let Some(values) = self.take() else { return };
        let mut values = ManuallyDrop::new((*values).into_iter());
        values.by_ref().for_each(drop);
        drop(ManuallyDrop::into_inner(values));
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
