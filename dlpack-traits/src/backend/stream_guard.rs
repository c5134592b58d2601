//! The streams that a thread has entered: [`StreamGuard`].

use alloc::rc::Rc;
use core::any::Any;
use core::cell::RefCell;
use core::fmt;
use std::thread_local;
use std::vec::Vec;

use super::{Backend, WorkStream};
use crate::device::Device;

/// A device, and a `WorkStream` of it.
type Entry = (Device, Rc<dyn Any>);

thread_local! {
    /// The streams that this thread has entered and not left, the innermost last.
    static ENTERED: RefCell<Vec<Entry>> = const { RefCell::new(Vec::new()) };
}

/// A guard: while it lives, this thread works on the stream that it entered. New memory is
/// allocated for that stream, and consumers work on it too (`current_work_stream`).
#[must_use = "the stream is left when this is dropped"]
pub struct StreamGuard {
    device: Device,
    /// The entry in the list of this thread. The `Rc` makes the guard `!Send`.
    stream: Rc<dyn Any>,
}

/// Makes the stream the current one of this thread, until the guard is dropped.
pub(super) fn enter<B: Backend>(stream: WorkStream<B>) -> StreamGuard {
    let device = stream.device();
    let stream: Rc<dyn Any> = Rc::new(stream);
    let entry = (device, Rc::clone(&stream));
    // While the thread's locals are destroyed, nothing is entered.
    let _ = ENTERED.try_with(|entered| entered.borrow_mut().push(entry));
    StreamGuard { device, stream }
}

/// The stream of a device that this thread entered last, if any.
pub(super) fn innermost<B: Backend>(device: Device) -> Option<WorkStream<B>> {
    let found = ENTERED.try_with(|entered| {
        let entered = entered.borrow();
        let mut innermost = entered.iter().rev();
        let found = innermost.find(|entry| entry.0 == device && entry.1.is::<WorkStream<B>>());
        found.map(|entry| Rc::clone(&entry.1))
    });
    // While the thread's locals are destroyed, nothing is entered. The stream is cloned
    // after the borrow of the list ends, because the clone calls a runtime, which may
    // re-enter this module.
    found.ok().flatten()?.downcast_ref::<WorkStream<B>>().cloned()
}

impl Drop for StreamGuard {
    fn drop(&mut self) {
        // The entry is dropped after the borrow of the list ends, because dropping a stream
        // calls a runtime, which may re-enter this module.
        let left = ENTERED.try_with(|entered| {
            let mut entered = entered.borrow_mut();
            let index = entered.iter().rposition(|entry| Rc::ptr_eq(&entry.1, &self.stream));
            index.map(|index| entered.remove(index))
        });
        drop(left);
    }
}

impl fmt::Debug for StreamGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a stream of {}", self.device)
    }
}
