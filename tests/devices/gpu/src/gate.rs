//! Work whose end a test controls: [`Gate`].

use std::ffi::c_void;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Keeps a stream from going on until it is opened, or dropped.
///
/// It is a function of the test that the stream calls, so it works alike on a
/// driver and on the simulator, and no test depends on how long anything takes.
#[derive(Debug, Default)]
pub struct Gate(Arc<Latch>);

#[derive(Debug, Default)]
struct Latch {
    open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    /// A closed gate.
    pub fn closed() -> Self {
        Self::default()
    }

    /// Lets the streams go on.
    pub fn open(&self) {
        *self.0.open.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.opened.notify_all();
    }

    /// The argument of one call of [`Gate::pass`].
    pub fn argument(&self) -> *mut c_void {
        Arc::into_raw(Arc::clone(&self.0)).cast_mut().cast()
    }

    /// The host function of a stream: it returns when the gate is open.
    ///
    /// # Safety
    ///
    /// 1. `argument` was returned by [`argument`](Self::argument), and this is the only
    ///    call with it.
    pub unsafe extern "C" fn pass(argument: *mut c_void) {
        // SAFETY: (1).
        let latch = unsafe { Arc::from_raw(argument.cast::<Latch>().cast_const()) };
        let open = latch.open.lock().unwrap_or_else(PoisonError::into_inner);
        drop(latch.opened.wait_while(open, |open| !*open));
    }
}

/// A failing test must not leave a blocked stream behind.
impl Drop for Gate {
    fn drop(&mut self) {
        self.open();
    }
}
