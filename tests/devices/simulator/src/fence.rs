//! An event in the future: [`Fence`].

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;

/// It passes once, and any number of threads can wait for that.
#[derive(Debug)]
pub(crate) struct Fence {
    passed: Mutex<Option<Instant>>,
    changed: Condvar,
}

impl Fence {
    /// Returns a fence that another thread will let pass.
    pub(crate) fn pending() -> Arc<Self> {
        Arc::new(Self { passed: Mutex::new(None), changed: Condvar::new() })
    }

    /// A fence that has passed.
    pub(crate) fn passed() -> Arc<Self> {
        Arc::new(Self { passed: Mutex::new(Some(Instant::now())), changed: Condvar::new() })
    }

    /// Lets it pass.
    pub(crate) fn pass(&self) {
        *self.passed.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        self.changed.notify_all();
    }

    /// When it passed, if it did.
    pub(crate) fn when(&self) -> Option<Instant> {
        *self.passed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until it has passed.
    pub(crate) fn wait(&self) {
        let passed = self.passed.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_while(passed, |passed| passed.is_none());
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}
