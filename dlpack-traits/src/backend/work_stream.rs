//! A stream together with its handle and its device: [`WorkStream`].
//!
//! The stream, its handle and its device are one value, so streams can be compared as
//! numbers, a vendor's stream needs no function that returns its handle, and an export to
//! the producer's own stream creates no object.

use core::fmt;

use super::{Backend, Stream, StreamHandle};
use crate::device::Device;
use crate::error::Error;
use crate::stream::StreamArg;

/// A stream of a backend on which work is launched: the stream, its handle, and
/// its device.
pub struct WorkStream<B: Backend> {
    device: Device,
    handle: StreamHandle,
    stream: B::Stream,
}

impl<B: Backend> WorkStream<B> {
    /// The stream on which this thread currently works.
    ///
    /// # Errors
    ///
    /// Those of [`Backend::current_stream`].
    pub fn current(device: Device) -> Result<Self, Error> {
        B::current_stream(device)
    }

    /// Combines a stream with its handle and device.
    ///
    /// # Safety
    ///
    /// 1. As long as this value, its stream, or a clone of either lives, the stream
    ///    may be used, and `handle` names it on every thread.
    /// 2. It is a stream of `device`.
    pub const unsafe fn new(device: Device, handle: StreamHandle, stream: B::Stream) -> Self {
        Self { device, handle, stream }
    }

    /// Borrows the stream behind a handle.
    ///
    /// # Errors
    ///
    /// Those of [`Backend::borrow_stream`].
    ///
    /// # Safety
    ///
    /// 1. `handle` names a stream of `device`, on every thread, for as long as
    ///    the result, its stream, or a clone of either lives. A buffer that is
    ///    handed off to it may keep such a clone.
    pub unsafe fn borrow(device: Device, handle: StreamHandle) -> Result<Self, Error> {
        // SAFETY: 1. By our caller's 1, `handle` names such a stream for as
        // long as the result is used.
        let stream = unsafe { B::borrow_stream(device, handle) }?;
        Ok(Self { device, handle, stream })
    }

    /// The device of the stream.
    pub fn device(&self) -> Device {
        self.device
    }

    /// The handle of the stream.
    pub fn handle(&self) -> StreamHandle {
        self.handle
    }

    /// The stream.
    pub fn stream(&self) -> &B::Stream {
        &self.stream
    }

    /// The `stream` argument that a consumer on this stream passes to a
    /// producer.
    pub fn as_arg(&self) -> StreamArg<'_> {
        match B::RULES.number_of(self.handle) {
            // SAFETY: 1. By 1 of `new`, the handle names a stream of the device
            // as long as `self` lives; the rules may have replaced it by a
            // number that names the same stream.
            Some(number) => unsafe { StreamArg::from_handle(number) },
            None => StreamArg::unspecified(),
        }
    }

    /// Waits on the host for all enqueued work.
    ///
    /// # Errors
    ///
    /// Those of [`Stream::synchronize`].
    pub fn synchronize(&self) -> Result<(), Error> {
        self.stream.synchronize()
    }
}

impl<B: Backend> Clone for WorkStream<B> {
    fn clone(&self) -> Self {
        Self { device: self.device, handle: self.handle, stream: self.stream.clone() }
    }
}

impl<B: Backend> fmt::Debug for WorkStream<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {}", self.handle, self.device)
    }
}
