//! The stream on which a thread works: [`Entered`].

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
    /// What this thread entered and did not leave, the innermost last.
    static ENTERED: RefCell<Vec<Entry>> = const { RefCell::new(Vec::new()) };
}

/// While it lives, this thread works on the stream that it entered: new memory
/// is for it, and consumers are told to work on it too (`current_work_stream`).
#[must_use = "the stream is left when this is dropped"]
pub struct Entered {
    device: Device,
    /// It belongs to the thread, and so does this.
    stream: Rc<dyn Any>,
}

/// From now on this thread works on that stream.
pub(super) fn enter<B: Backend>(stream: WorkStream<B>) -> Entered {
    let device = stream.device();
    let stream: Rc<dyn Any> = Rc::new(stream);
    let entry = (device, Rc::clone(&stream));
    // A thread that ends enters nothing.
    let _ = ENTERED.try_with(|entered| entered.borrow_mut().push(entry));
    Entered { device, stream }
}

/// The stream of a device on which this thread works, if it entered one.
pub(super) fn innermost<B: Backend>(device: Device) -> Option<WorkStream<B>> {
    let found = ENTERED.try_with(|entered| {
        let entered = entered.borrow();
        let mut innermost = entered.iter().rev();
        let found = innermost.find(|entry| entry.0 == device && entry.1.is::<WorkStream<B>>());
        found.map(|entry| Rc::clone(&entry.1))
    });
    // A thread that ends has left everything. The stream is cloned after the list is
    // given back: that is a call of a runtime, which may do anything.
    found.ok().flatten()?.downcast_ref::<WorkStream<B>>().cloned()
}

impl Drop for Entered {
    fn drop(&mut self) {
        // What is taken out is dropped after the list is given back: to drop a
        // stream is a call of a runtime, which may do anything.
        let left = ENTERED.try_with(|entered| {
            let mut entered = entered.borrow_mut();
            let index = entered.iter().rposition(|entry| Rc::ptr_eq(&entry.1, &self.stream));
            index.map(|index| entered.remove(index))
        });
        drop(left);
    }
}

impl fmt::Debug for Entered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a stream of {}", self.device)
    }
}
