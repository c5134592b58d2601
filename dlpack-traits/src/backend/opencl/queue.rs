//! Queues and events of OpenCL: [`OpenClQueue`], [`OpenClEvent`].
//!
//! OpenCL counts references to queues, so `STREAMS_LAST` is true. `Stream::can_follow`
//! rejects a queue of another context before it is recorded: a free could never wait for
//! its work.

use alloc::sync::Arc;
use core::fmt;
use core::ptr::{self, NonNull};

use super::sys::{self, Calls, OpenClObject};
use crate::backend::library::Ref;
use crate::backend::{Event, Stream};
use crate::device::Device;
use crate::error::Error;

/// `CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE`.
const OUT_OF_ORDER: u64 = 1;
/// `CL_MEM_READ_WRITE`.
const READ_WRITE: u64 = 1;
/// The error codes of OpenCL for a failed allocation, or for a size that is too large.
const OUT_OF_MEMORY: [i64; 4] = [-4, -5, -6, -61];

/// A `cl_command_queue`, with a reference to it.
#[derive(Clone)]
pub struct OpenClQueue {
    pub(super) calls: &'static Calls,
    device: Device,
    queue: Arc<OpenClObject<sys::Queue>>,
    /// A reference, because not every runtime keeps the context of a queue alive.
    context: Arc<OpenClObject<sys::Context>>,
    in_order: bool,
}

impl OpenClQueue {
    pub(super) fn new(
        calls: &'static Calls,
        device: Device,
        queue: OpenClObject<sys::Queue>,
    ) -> Result<Self, Error> {
        let context = calls.object(device, queue.get(), sys::CONTEXT)?;
        let properties = calls.ask(device, queue.get(), sys::PROPERTIES)?;
        let what = "context of a queue";
        let context = context.ok_or(Error::Unsupported { device, what })?;
        let context = Arc::new(calls.retained(device, context)?);
        let queue = Arc::new(queue);
        let in_order = properties & OUT_OF_ORDER == 0;
        Ok(Self { calls, device, queue, context, in_order })
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

    /// The `cl_context` of the queue.
    pub(super) fn context(&self) -> Ref {
        self.context.raw()
    }

    /// Enqueues a barrier: later work waits for the event, or without one for all work so far.
    fn barrier(&self, event: Option<&sys::Event>) -> Result<(), Error> {
        let (count, none) = (event.is_some().into(), ptr::null_mut());
        // SAFETY: 1. A queue, and a list of one event, or of none, which means all work.
        unsafe { self.calls.barrier(self.device, self.get(), count, event.as_ref(), none) }
    }

    /// Enqueues one command in order, also on a queue that executes out of order. `work`
    /// stores the event of the command if its second argument is not NULL.
    pub(super) fn enqueue(
        &self,
        work: impl FnOnce(&sys::Queue, *mut Ref) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if self.in_order {
            return work(self.get(), ptr::null_mut());
        }
        self.barrier(None)?;
        let mut event = ptr::null_mut();
        work(self.get(), &raw mut event)?;
        let event = self.own(event)?;
        if self.barrier(None).is_err() {
            // Later work would not wait for the command, so the host waits for it now.
            // SAFETY: 1. One event. If the wait fails too, the work may still be pending (2
            // of `Backend::copy`).
            return unsafe { self.calls.wait_for_events(self.device, 1, &event.get()) };
        }
        Ok(())
    }

    /// Allocates a buffer, and fills it with zeros in the order of the queue.
    pub(super) fn allocate(&self, byte_len: usize) -> Result<OpenClObject<sys::Memory>, Error> {
        let (calls, device, context) = (self.calls, self.device, self.context.get());
        let memory = calls.create_memory(device, context, READ_WRITE, byte_len, None);
        // Some runtimes allocate when the buffer is created, others at its first use.
        let filled = memory.and_then(|memory| {
            self.enqueue(|raw, event| {
                let (zero, none) = (0_u8, ptr::null());
                let pattern = (&raw const zero).cast();
                // SAFETY: 1. A queue, a new buffer of that length in its context, and a pattern
                // of one byte, which OpenCL copies.
                unsafe {
                    calls.fill(device, raw, memory.get(), pattern, 1, 0, byte_len, 0, none, event)
                }
            })?;
            Ok(memory)
        });
        filled.map_err(|error| match error {
            Error::Device { code, .. } if OUT_OF_MEMORY.contains(&code) => {
                Error::OutOfMemory { bytes: byte_len }
            }
            error => error,
        })
    }

    /// Takes ownership of an event that a call returned.
    fn own(&self, event: Ref) -> Result<OpenClObject<sys::Event>, Error> {
        let device = self.device;
        let event = NonNull::new(event).ok_or(Error::Unsupported { device, what: "events" })?;
        // SAFETY: 1. The reference was returned by a call that makes one for its caller.
        Ok(unsafe { OpenClObject::new(self.calls, event, Calls::release_event) })
    }
}

impl fmt::Debug for OpenClQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "queue {:?} of {}", self.raw(), self.device)
    }
}

// SAFETY: by the OpenCL specification:
// 1 (order): an in-order queue has it; on others this crate enqueues between barriers.
// 2 and 3 (`record`, `wait`): a marker without a list is reached after all work so far, and a
// barrier with an event delays all later work. `record` flushes the queue, without which
// another queue could wait for ever.
// 4 (only enqueue): markers, barriers and a flush do not wait.
// 5 (`synchronize`): `clFinish` returns after all work.
// 6 (any thread): all functions but `clSetKernelArg` are thread-safe; there is no current device.
// 7 (clone): it is a reference to the same queue.
// 8 (graphs): there are none.
// 9 (`is_same`): the default, with which handles are compared, of queues that are kept alive.
// 10 (`can_follow`): only queues of one context can, and their events are valid in all of it.
// 11 (`fence`): it is a barrier without a list, which waits for all work so far.
unsafe impl Stream for OpenClQueue {
    type Event = OpenClEvent;

    const IN_ORDER: bool = false;
    const GRAPHS: bool = false;

    fn record(&self) -> Result<OpenClEvent, Error> {
        let (calls, mut event) = (self.calls, ptr::null_mut());
        // No list means all work.
        calls.marker(self.device, self.get(), 0, None, &mut event)?;
        let event = self.own(event)?;
        calls.flush(self.device, self.get())?;
        Ok(OpenClEvent(event))
    }

    fn wait(&self, event: &OpenClEvent) -> Result<(), Error> {
        self.barrier(Some(event.0.get()))
    }

    fn synchronize(&self) -> Result<(), Error> {
        self.calls.finish(self.device, self.get())
    }

    /// An event can only be used in its context.
    fn can_follow(&self, producer: &Self) -> Result<(), Error> {
        if self.context() == producer.context() {
            return Ok(());
        }
        let what = "order among queues of two contexts";
        Err(Error::Unsupported { device: self.device, what })
    }

    fn fence(&self) -> Result<(), Error> {
        if self.in_order { Ok(()) } else { self.barrier(None) }
    }
}

/// An event of OpenCL.
#[derive(Debug)]
pub struct OpenClEvent(OpenClObject<sys::Event>);

// SAFETY: 1. It is one reference to the event; the queues hold their own.
unsafe impl Event for OpenClEvent {}
