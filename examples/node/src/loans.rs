//! Memory of JavaScript that Rust has on loan, counted for each environment.
//!
//! Node.js frees the memory of an environment (the main thread's, or a worker's) at its end,
//! also while another thread of Rust reads it. A hook therefore waits until all of it is
//! released.

use std::cell::RefCell;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use dlpack_traits::ImportedTensor;
use napi::bindgen_prelude::{Env, Result};

/// How long the end of an environment waits for other threads, before it ends the process.
const PATIENCE: Duration = Duration::from_secs(10);

/// The place of a tensor that an object of JavaScript owns.
pub(crate) type Slot = Mutex<Option<ImportedTensor>>;

/// Locks a slot, also after a panic.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The loans of one environment.
#[derive(Debug, Default)]
pub(crate) struct Loans {
    count: Mutex<usize>,
    released: Condvar,
    slots: Mutex<Vec<Weak<Slot>>>,
}

thread_local! {
    /// Those of this thread's environment.
    static LOANS: RefCell<Arc<Loans>> = RefCell::default();
}

impl Loans {
    /// Begins an environment.
    pub(crate) fn begin(env: &Env) -> Result<()> {
        let loans = Arc::new(Self::default());
        LOANS.set(Arc::clone(&loans));
        env.add_env_cleanup_hook(loans, |loans| loans.end()).map(drop)
    }

    /// The loans of this thread's environment.
    pub(crate) fn current() -> Arc<Self> {
        LOANS.with_borrow(Arc::clone)
    }

    /// Registers a tensor that an object of this environment owns.
    pub(crate) fn register(&self, slot: &Arc<Slot>) {
        let mut slots = lock(&self.slots);
        slots.retain(|slot| slot.strong_count() > 0);
        slots.push(Arc::downgrade(slot));
    }

    /// Releases the tensors of this environment's objects, whose finalizers run later, and
    /// waits until other threads have released theirs.
    fn end(&self) {
        let slots = core::mem::take(&mut *lock(&self.slots));
        for slot in slots.iter().filter_map(Weak::upgrade) {
            drop(lock(&slot).take());
        }
        let count = lock(&self.count);
        let waited = self.released.wait_timeout_while(count, PATIENCE, |count| *count > 0);
        let (count, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if *count > 0 {
            eprintln!(
                "{count} tensors with memory of JavaScript are in use {} s after the end of their \
                 environment, which frees the memory; the process ends",
                PATIENCE.as_secs()
            );
            std::process::abort();
        }
    }
}

/// One loan, which ends on drop, on any thread.
#[derive(Debug)]
pub(crate) struct Loan(Arc<Loans>);

impl Loan {
    /// A loan of this thread's environment.
    pub(crate) fn new() -> Self {
        let loans = Loans::current();
        *lock(&loans.count) += 1;
        Self(loans)
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        *lock(&self.0.count) -= 1;
        self.0.released.notify_all();
    }
}
