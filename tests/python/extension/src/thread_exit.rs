//! Values that are dropped when their thread ends, after Python has deleted its thread
//! state.

use core::cell::RefCell;
use std::thread_local;

thread_local! {
    static LEFT: RefCell<Vec<AtExit>> = const { RefCell::new(Vec::new()) };
}

/// A function that is called when it is dropped.
struct AtExit(Option<Box<dyn FnOnce()>>);

impl Drop for AtExit {
    fn drop(&mut self) {
        if let Some(run) = self.0.take() {
            run();
        }
    }
}

/// Calls a function in the destructor of a thread-local value of this thread.
pub(crate) fn at_thread_exit(run: impl FnOnce() + 'static) {
    LEFT.with_borrow_mut(|left| left.push(AtExit(Some(Box::new(run)))));
}
