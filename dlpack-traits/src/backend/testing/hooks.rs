//! What a vendor adds to its backend for the kit: [`Hooks`].

use alloc::boxed::Box;
use core::time::Duration;

use crate::backend::{Backend, WorkStream};
use crate::device::Device;
use crate::error::Error;

/// Opens a gate: work that waited for it begins. Any thread calls it, once.
pub type Gate = Box<dyn FnOnce() + Send>;

/// Streams of a device, and gates on them. Two functions are needed; the others have defaults, with
/// which their checks are not run. The kit calls them from threads of its own.
pub trait Hooks<B: Backend>: Send + Sync + 'static {
    /// A stream of the device. The streams of the indices 0 and 1 are different ones, and work at
    /// the same time. If the runtime creates streams, this is a new one; otherwise it may be the
    /// same again.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] for the index 1 of a device with one stream, and those of the runtime.
    fn stream(&self, device: Device, index: usize) -> Result<WorkStream<B>, Error>;

    /// Enqueues a gate on the stream, which is closed: later work on the stream waits until it is
    /// opened, such as for a host function, a user event or a semaphore. A long kernel will do,
    /// which opens by itself.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] without such a call, and those of the runtime.
    fn gate(&self, stream: &WorkStream<B>) -> Result<Gate, Error>;

    /// Whether gates stay closed until they are opened; `false` for a long kernel.
    fn holds(&self) -> bool {
        true
    }

    /// Closes a stream of [`stream`](Self::stream), as a consumer does that has work on it. By
    /// default it is dropped.
    fn close(&self, stream: WorkStream<B>) {
        drop(stream);
    }

    /// Begins to record the work on the stream into a graph; the result ends it.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] by default, and those of the runtime.
    fn capture(&self, stream: &WorkStream<B>) -> Result<Gate, Error> {
        Err(Error::Unsupported { device: stream.device(), what: "hook `capture`" })
    }

    /// Enqueues work that fails, as that of a lost device does. The device is not used by later
    /// checks, except that of the shutdown.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] by default, and those of the runtime.
    fn fail(&self, stream: &WorkStream<B>) -> Result<(), Error> {
        Err(Error::Unsupported { device: stream.device(), what: "hook `fail`" })
    }

    /// Ends the runtime, as at the exit of a program. The kit calls it last.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] by default, and those of the runtime.
    fn shutdown(&self, device: Device) -> Result<(), Error> {
        Err(Error::Unsupported { device, what: "hook `shutdown`" })
    }

    /// How long a check may take before it counts as one that waits for a closed gate.
    fn patience(&self) -> Duration {
        Duration::from_secs(10)
    }
}

/// The hooks of a device without streams, or without a way to hold work back: its current stream.
#[derive(Clone, Copy, Debug)]
pub struct NoGate;

impl<B: Backend> Hooks<B> for NoGate {
    fn stream(&self, device: Device, index: usize) -> Result<WorkStream<B>, Error> {
        match index {
            0 => WorkStream::current(device),
            _ => Err(Error::Unsupported { device, what: "second stream" }),
        }
    }

    fn gate(&self, stream: &WorkStream<B>) -> Result<Gate, Error> {
        Err(Error::Unsupported { device: stream.device(), what: "gate" })
    }
}
