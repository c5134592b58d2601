//! Queues and events of SYCL: [`OneApiQueue`], [`OneApiEvent`].
//!
//! SYCL counts references to queues, so `STREAMS_LAST` is true. The address of a
//! `sycl::queue` can later be that of another queue, so recorded streams are also compared
//! by `Stream::is_same`.

use alloc::sync::Arc;
use core::fmt;

use super::sys::{self, Calls, SyclObject};
use crate::backend::library::Ref;
use crate::backend::{Event, Stream};
use crate::device::Device;
use crate::error::Error;

/// A queue of SYCL, with a reference to it.
#[derive(Clone)]
pub struct OneApiQueue {
    pub(super) calls: &'static Calls,
    device: Device,
    queue: Arc<SyclObject<sys::Queue>>,
    in_order: bool,
}

pub(super) use OneApiQueue as Queue;

impl OneApiQueue {
    pub(super) fn new(
        calls: &'static Calls,
        device: Device,
        queue: SyclObject<sys::Queue>,
    ) -> Self {
        let in_order = calls.queue_is_in_order(queue.get());
        Self { calls, device, queue: Arc::new(queue), in_order }
    }

    pub(super) fn raw(&self) -> Ref {
        self.queue.raw()
    }

    pub(super) fn get(&self) -> &sys::Queue {
        self.queue.get()
    }

    pub(super) fn device(&self) -> Device {
        self.device
    }

    /// Enqueues a barrier: it is reached after all work so far, and later work waits for
    /// it.
    fn barrier(&self) -> Result<SyclObject<sys::Event>, Error> {
        self.calls.queue_submit_barrier(self.device, self.get())
    }

    /// Enqueues one command in order, also on a queue that executes out of order.
    pub(super) fn enqueue(
        &self,
        work: impl FnOnce(&sys::Queue) -> Result<SyclObject<sys::Event>, Error>,
    ) -> Result<(), Error> {
        if self.in_order {
            return work(self.get()).map(drop);
        }
        self.barrier()?;
        let event = work(self.get())?;
        if self.barrier().is_err() {
            // Later work would not wait for the command, so the host waits for it now.
            self.calls.event_wait(event.get());
        }
        Ok(())
    }
}

impl fmt::Debug for OneApiQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "queue {:?} of {}", self.raw(), self.device)
    }
}

// SAFETY: by the SYCL specification:
// 1 (order): an in-order queue has it; on others this crate enqueues between barriers.
// 2 and 3 (`record`, `wait`): a barrier is reached after all work before it, and after its
// events; later work waits for it.
// 4 (only enqueue): a barrier does not wait.
// 5 (`synchronize`): the wait for a queue returns after all its work.
// 6 (any thread): objects of SYCL may be used by any thread; there is no current context.
// 7 (clone): it is a reference to the same queue.
// 8 (graphs): this crate enqueues nothing on a queue that records a graph.
// 9 (`is_same`): SYCL compares the queues.
// 10 (`can_follow`): queues of one device share its default context, whose events all of them
// can wait for.
// 11 (`fence`): it is a barrier.
unsafe impl Stream for OneApiQueue {
    type Event = OneApiEvent;

    const IN_ORDER: bool = false;
    const GRAPHS: bool = false;

    fn record(&self) -> Result<OneApiEvent, Error> {
        self.barrier().map(OneApiEvent)
    }

    fn wait(&self, event: &OneApiEvent) -> Result<(), Error> {
        let (calls, queue, event) = (self.calls, self.get(), event.0.get());
        // SAFETY: 1. One event.
        unsafe { calls.queue_submit_barrier_for_events(self.device, queue, &event, 1) }.map(drop)
    }

    fn synchronize(&self) -> Result<(), Error> {
        self.calls.queue_wait(self.get());
        Ok(())
    }

    fn fence(&self) -> Result<(), Error> {
        if self.in_order { Ok(()) } else { self.barrier().map(drop) }
    }

    /// A handle is the address of a C++ object: each copy of a queue has its own, and the
    /// address may be reused for another queue later.
    fn is_same(&self, other: &Self) -> Option<bool> {
        Some(self.calls.queue_are_eq(self.get(), other.get()))
    }
}

/// An event of SYCL.
#[derive(Debug)]
pub struct OneApiEvent(SyclObject<sys::Event>);

// SAFETY: 1. It is one reference to the event; SYCL and its queues hold their own.
unsafe impl Event for OneApiEvent {}
