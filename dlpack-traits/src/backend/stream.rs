//! Queues of work and the marks in them: [`Stream`], [`Event`], [`NoStream`].

use core::ffi::c_void;
use core::fmt;
use core::ptr;

use crate::error::Error;

/// A queue of work on a device, done in order.
///
/// None of these functions takes work back, and only
/// [`synchronize`](Self::synchronize) may wait.
///
/// # Safety
///
/// 1. Work on a stream is done in the order in which it was enqueued.
/// 2. [`record`](Self::record) enqueues a mark that is reached when all work
///    enqueued before it is done.
/// 3. Work enqueued after [`wait`](Self::wait) begins when the event is reached,
///    and sees what the work before the event wrote.
/// 4. `record` and `wait` only enqueue: they neither wait on the host nor ask
///    whether an event was reached. So they are allowed while the stream is
///    captured into a graph.
/// 5. When [`synchronize`](Self::synchronize) returns `Ok`, all work enqueued
///    before is done, and the host sees what it wrote.
/// 6. Any thread may call them; no device or context needs to be current.
pub unsafe trait Stream: Clone + Send + Sync + 'static {
    /// A mark in the order of work.
    type Event: Event;

    /// Marks what has been enqueued so far.
    ///
    /// # Errors
    ///
    /// Those of the runtime; nothing was enqueued then.
    fn record(&self) -> Result<Self::Event, Error>;

    /// Makes what is enqueued from now on wait for the event, which may be of
    /// another stream.
    ///
    /// # Errors
    ///
    /// Those of the runtime; nothing was enqueued then.
    fn wait(&self, event: &Self::Event) -> Result<(), Error>;

    /// Waits, on the host, until everything that was enqueued is done.
    ///
    /// # Errors
    ///
    /// Those of the runtime, and of the work that failed.
    fn synchronize(&self) -> Result<(), Error>;
}

/// A mark in the order of work of a stream. Dropping it frees it.
///
/// # Safety
///
/// 1. It may be dropped by any thread, also before it was reached and while
///    streams wait for it; they wait all the same.
pub unsafe trait Event: Send + 'static {}

/// What a stream is called in C: a pointer, or a number in one. NULL is the
/// default stream on some devices, and no stream on the host.
///
/// It says nothing of whether the stream is alive.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct StreamHandle(*mut c_void);

// SAFETY: a handle is a name; it is followed by `Backend::borrow_stream`, whose
// caller promises that the stream is alive.
unsafe impl Send for StreamHandle {}
// SAFETY: as above.
unsafe impl Sync for StreamHandle {}

impl StreamHandle {
    /// NULL.
    pub const NULL: Self = Self(ptr::null_mut());

    /// The handle that C code has as a pointer.
    pub const fn from_ptr(handle: *mut c_void) -> Self {
        Self(handle)
    }

    /// The handle that a consumer sent as a number.
    pub fn from_number(number: usize) -> Self {
        Self(ptr::with_exposed_provenance_mut(number))
    }

    /// The handle as C code has it.
    pub const fn as_ptr(self) -> *mut c_void {
        self.0
    }

    /// The handle as a number.
    pub fn number(self) -> usize {
        self.0.expose_provenance()
    }
}

impl fmt::Debug for StreamHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stream {:#x}", self.0.addr())
    }
}

/// The stream, and the event, of devices on which work is done when the call
/// returns. It takes no memory and no time.
#[derive(Clone, Copy, Debug)]
pub struct NoStream;

// SAFETY: 1. to 6. Work is done when the call that asks for it returns, so it
// is in order, and there is nothing to wait for.
unsafe impl Stream for NoStream {
    type Event = NoStream;

    #[inline(always)]
    fn record(&self) -> Result<NoStream, Error> {
        Ok(NoStream)
    }

    #[inline(always)]
    fn wait(&self, _: &NoStream) -> Result<(), Error> {
        Ok(())
    }

    #[inline(always)]
    fn synchronize(&self) -> Result<(), Error> {
        Ok(())
    }
}

// SAFETY: 1. There is nothing to free.
unsafe impl Event for NoStream {}
