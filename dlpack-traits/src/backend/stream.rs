//! Queues of work and the marks in them: [`Stream`], [`Event`], [`NoStream`].

use core::ffi::c_void;
use core::fmt;

use crate::error::Error;

/// A queue of work on a device, done in order.
///
/// None of these functions takes work back, and only
/// [`synchronize`](Self::synchronize) may wait.
///
/// # Safety
///
/// 1. Work on a stream is done in the order in which it was enqueued; where the
///    queue behind it sees to no order, as far as [`fence`](Self::fence) parts it.
/// 2. [`record`](Self::record) enqueues a mark that is reached when all work
///    enqueued before it is done.
/// 3. Work enqueued after [`wait`](Self::wait) begins when the event is reached,
///    and sees what the work before the event wrote.
/// 4. `record`, `wait` and `fence` only enqueue: they neither wait on the host nor
///    ask whether an event was reached. So they are allowed while the stream is
///    captured into a graph.
/// 5. When [`synchronize`](Self::synchronize) returns `Ok`, all work enqueued before is
///    done, and the host sees what it wrote. An error says nothing about the work, which
///    may go on: memory that it uses is not freed then.
/// 6. Any thread may call them; no device or context needs to be current.
/// 7. A clone is the same stream: work of both is in one order.
/// 8. While work is recorded into a graph, [`is_captured`](Self::is_captured) is not
///    `Ok(false)`: memory is freed that a graph names, otherwise.
/// 9. [`is_same`](Self::is_same) is `Some(true)` for one stream only. For two, a consumer's
///    work would not be waited for.
/// 10. Where [`can_follow`](Self::can_follow) is `Ok`, an event of the other stream is one
///     that [`wait`](Self::wait) orders work after.
/// 11. [`fence`](Self::fence) orders all later work on the stream after all work so far,
///     where the queue does not.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the stream of a device",
    label = "not a `Stream`",
    note = "implement `dlpack_traits::backend::Stream` for it; a device without streams has `NoStream`"
)]
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
    /// Those of the runtime, and of the work that failed. The work may go on then (5).
    fn synchronize(&self) -> Result<(), Error>;

    /// Whether work is recorded into a graph at present, in place of being
    /// enqueued. Memory cannot be freed after such work: nobody says when a graph
    /// is launched last. By default a runtime has no graphs.
    ///
    /// # Errors
    ///
    /// Those of the runtime.
    fn is_captured(&self) -> Result<bool, Error> {
        Ok(false)
    }

    /// Whether no work can be enqueued for now, because another stream is captured that
    /// takes turns with this one. Memory is freed after the capture then. By default this
    /// does not happen.
    fn is_blocked(&self) -> bool {
        false
    }

    /// Refuses a stream after whose work this one cannot be ordered, such as one
    /// of another context. By default there is none.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`], and those of the runtime.
    fn can_follow(&self, producer: &Self) -> Result<(), Error> {
        let _ = producer;
        Ok(())
    }

    /// Makes what is enqueued from now on wait for what was enqueued so far, where
    /// the queue does not see to that itself. By default it does.
    ///
    /// # Errors
    ///
    /// Those of the runtime; nothing was enqueued then.
    #[inline]
    fn fence(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Whether this and another are one stream, if the runtime can tell. By default
    /// equal handles tell. That is not enough where one stream has several handles,
    /// or where a handle may come to name another stream while a stream that was
    /// borrowed by it is kept.
    fn is_same(&self, other: &Self) -> Option<bool> {
        let _ = other;
        None
    }
}

/// A mark in the order of work of a stream. Dropping it frees it.
///
/// # Safety
///
/// 1. It may be dropped by any thread, also before it was reached and while
///    streams wait for it; they wait all the same.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the event of a device",
    label = "not an `Event`",
    note = "implement `dlpack_traits::backend::Event` for it, which has no functions"
)]
pub unsafe trait Event: Send + 'static {}

/// What a stream is called: a pointer in C, the same number in Python. NULL is
/// the default stream on some devices, and no stream on the host.
///
/// It says nothing of whether the stream is alive.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct StreamHandle(usize);

impl StreamHandle {
    /// NULL.
    pub const NULL: Self = Self(0);

    /// The handle that C code has as a pointer.
    pub fn from_ptr(handle: *mut c_void) -> Self {
        Self(handle.expose_provenance())
    }

    /// The handle as C code has it.
    pub fn as_ptr(self) -> *mut c_void {
        match self.0 {
            0 => core::ptr::null_mut(),
            number => core::ptr::with_exposed_provenance_mut(number),
        }
    }

    /// The handle that is known as a number.
    pub const fn from_number(number: usize) -> Self {
        Self(number)
    }

    /// The handle as a number.
    pub const fn number(self) -> usize {
        self.0
    }
}

impl fmt::Debug for StreamHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stream {:#x}", self.0)
    }
}

/// The stream, and the event, of devices on which work is done when the call
/// returns. It takes no memory and no time.
#[derive(Clone, Copy, Debug)]
pub struct NoStream;

// SAFETY: 1. to 11. Work is done when the call that asks for it returns, so it
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
