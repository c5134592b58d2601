//! A re-entrant lock: [`ReentrantLock`].

use core::ptr;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread_local;

thread_local! {
    /// A `u8` whose address identifies the thread.
    static HERE: u8 = const { 0 };
}

/// A lock that a thread may take again while it holds it: code that runs under
/// the lock may re-enter this crate, by a callback or by a tensor that it
/// drops.
#[derive(Debug, Default)]
pub(super) struct ReentrantLock {
    /// The thread that holds the lock, by the address of its `HERE`; 0 for
    /// none.
    holder: AtomicUsize,
    lock: Mutex<()>,
}

impl ReentrantLock {
    /// Calls a function under the lock.
    pub(super) fn take<R>(&self, call: impl FnOnce() -> R) -> R {
        let me = HERE.with(|here| ptr::from_ref(here).addr());
        // Relaxed: a thread reads its own number only if it stored that number
        // itself.
        if self.holder.load(Ordering::Relaxed) == me {
            return call();
        }
        let _locked = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.holder.store(me, Ordering::Relaxed);
        let _unlock = Unlock(&self.holder);
        call()
    }
}

/// Releases the lock, also on a panic.
struct Unlock<'a>(&'a AtomicUsize);

impl Drop for Unlock<'_> {
    fn drop(&mut self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use core::panic::AssertUnwindSafe;
    use core::time::Duration;
    use std::panic::catch_unwind;
    use std::sync::mpsc::{self, RecvTimeoutError, TryRecvError};
    use std::thread;

    use super::*;

    /// How long a thread waits for a message that must not arrive.
    const MOMENT: Duration = Duration::from_millis(100);

    #[test]
    fn a_thread_may_come_back() {
        let turn = ReentrantLock::default();
        assert_eq!(turn.take(|| turn.take(|| turn.take(|| 7))), 7);
        let panicked = catch_unwind(AssertUnwindSafe(|| turn.take(|| panic!("in a turn"))));
        assert!(panicked.is_err());
        assert_eq!(turn.holder.load(Ordering::Relaxed), 0);
        // Another thread can take the lock after that.
        assert_eq!(thread::scope(|scope| scope.spawn(|| turn.take(|| 7)).join().unwrap()), 7);
    }

    #[test]
    fn no_other_thread_comes_in_between() {
        let turn = ReentrantLock::default();
        let (sender, inside) = mpsc::channel();
        thread::scope(|scope| {
            turn.take(|| {
                let turn = &turn;
                let (begun, begins) = mpsc::channel();
                scope.spawn(move || {
                    begun.send(()).unwrap();
                    turn.take(|| sender.send(()).unwrap());
                });
                begins.recv().unwrap();
                // The timeout is long enough for the other thread to run, even
                // on one core.
                assert_eq!(inside.recv_timeout(MOMENT), Err(RecvTimeoutError::Timeout));
                assert_eq!(turn.take(|| 7), 7);
                assert_eq!(inside.try_recv(), Err(TryRecvError::Empty));
            });
            assert_eq!(inside.recv(), Ok(()));
        });
    }
}
