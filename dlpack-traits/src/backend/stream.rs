//! Streams and events: [`Stream`], [`Event`], [`NoStream`].

use core::ffi::{CStr, c_void};
use core::fmt;

use crate::error::Error;

/// A queue of work on a device, executed in order.
///
/// None of these functions cancels work, and only [`synchronize`](Self::synchronize) may
/// wait.
///
/// # Safety
///
/// 1. Work on a stream is done in the order in which it was enqueued; where the queue
///    behind it guarantees no order, as far as [`fence`](Self::fence) separates it.
/// 2. [`record`](Self::record) enqueues a mark that is reached when all work enqueued
///    before it is done.
/// 3. Work enqueued after [`wait`](Self::wait) begins when the event is reached, and sees
///    what the work before the event wrote.
/// 4. `record`, `wait` and `fence` only enqueue: they neither wait on the host nor query
///    whether an event was reached. So they are allowed while the stream is captured into a
///    graph. A queue of a bounded length may block while it is full, if it empties without the
///    caller.
/// 5. When [`synchronize`](Self::synchronize) returns `Ok`, all work enqueued before is
///    done, and the host sees what it wrote. An error says nothing about the work, which
///    may still be pending: memory that it uses is not freed then.
/// 6. Any thread may call them; no device or context needs to be current.
/// 7. A clone is the same stream: work of both is in one order.
/// 8. While work is recorded into a graph, [`is_captured`](Self::is_captured) is not
///    `Ok(false)`: otherwise memory that a graph names would be freed.
/// 9. [`is_same`](Self::is_same) is `Some(true)` for one stream only. If it were for two, a
///    free would not wait for the work of a consumer.
/// 10. Where [`can_follow`](Self::can_follow) is `Ok`, an event of the other stream is one
///     after which [`wait`](Self::wait) orders work.
/// 11. [`fence`](Self::fence) orders all later work on the stream after all work so far,
///     where the queue does not.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the stream of a device",
    label = "not a `Stream`",
    note = "implement `dlpack_traits::backend::Stream` for it; a device without streams has `NoStream`"
)]
pub unsafe trait Stream: Clone + Send + Sync + 'static {
    /// The type of the events of this stream.
    type Event: Event;

    /// Whether the queue does its work in the order in which it was enqueued. If not, implement
    /// [`fence`](Self::fence).
    const IN_ORDER: bool;

    /// Whether the runtime can record the work of a stream into a graph. If it can, implement
    /// [`is_captured`](Self::is_captured).
    const GRAPHS: bool;

    /// Records an event that is reached when the work enqueued so far is done.
    ///
    /// # Errors
    ///
    /// Those of the runtime; nothing was then enqueued.
    fn record(&self) -> Result<Self::Event, Error>;

    /// Makes all later work on this stream wait for the event, which may be of another
    /// stream.
    ///
    /// # Errors
    ///
    /// Those of the runtime; nothing was then enqueued.
    fn wait(&self, event: &Self::Event) -> Result<(), Error>;

    /// Waits on the host until all enqueued work is done.
    ///
    /// # Errors
    ///
    /// Those of the runtime, and of the work that failed. The work may then still be
    /// pending (5).
    fn synchronize(&self) -> Result<(), Error>;

    /// Whether work is currently recorded into a graph instead of being enqueued. Memory
    /// cannot be freed after such work, because the last launch of the graph is unknown. The default,
    /// `Ok(false)`, does not compile for a runtime with [`GRAPHS`](Self::GRAPHS).
    ///
    /// # Errors
    ///
    /// Those of the runtime.
    fn is_captured(&self) -> Result<bool, Error> {
        const { assert!(!Self::GRAPHS, "a stream with `GRAPHS` implements `is_captured`") }
        Ok(false)
    }

    /// Whether no work can currently be enqueued because another stream is captured with
    /// which this one synchronizes implicitly. Memory is then freed after the capture. By
    /// default this does not happen.
    fn is_blocked(&self) -> bool {
        false
    }

    /// Rejects a stream after whose work this one cannot be ordered, such as a stream of
    /// another context. By default every stream is accepted.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`], and those of the runtime.
    fn can_follow(&self, producer: &Self) -> Result<(), Error> {
        let _ = producer;
        Ok(())
    }

    /// Makes all later work wait for all work enqueued so far, if the queue does not
    /// execute in order. The default, which does nothing, compiles for a queue
    /// [`IN_ORDER`](Self::IN_ORDER) only.
    ///
    /// # Errors
    ///
    /// Those of the runtime; nothing was then enqueued.
    #[inline]
    fn fence(&self) -> Result<(), Error> {
        const { assert!(Self::IN_ORDER, "a stream that is not `IN_ORDER` implements `fence`") }
        Ok(())
    }

    /// Whether this and another are the same stream, or `None`, the default, if the runtime
    /// cannot tell: then handles are compared. Comparing handles is not enough if a stream
    /// has several handles, or if a handle may name another stream while a stream that was
    /// borrowed by it is kept.
    fn is_same(&self, other: &Self) -> Option<bool> {
        let _ = other;
        None
    }
}

/// An event in a stream. Dropping it destroys it.
///
/// # Safety
///
/// 1. It may be dropped by any thread, also before it was reached and while streams wait
///    for it; they wait all the same.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the event of a device",
    label = "not an `Event`",
    note = "implement `dlpack_traits::backend::Event` for it, which has no functions"
)]
pub unsafe trait Event: Send + 'static {}

/// The handle of a stream: a pointer in C, the same number in Python. NULL is the default
/// stream on some devices, and means no stream on the host.
///
/// A handle does not imply that the stream is alive.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct StreamHandle(usize);

impl StreamHandle {
    /// NULL.
    pub const NULL: Self = Self(0);

    /// Converts a handle that C code passes as a pointer.
    pub fn from_ptr(handle: *mut c_void) -> Self {
        Self(handle.expose_provenance())
    }

    /// Converts the handle to the pointer that C code expects.
    pub fn as_ptr(self) -> *mut c_void {
        match self.0 {
            0 => core::ptr::null_mut(),
            number => core::ptr::with_exposed_provenance_mut(number),
        }
    }

    /// Converts a handle that is given as a number.
    pub const fn from_number(number: usize) -> Self {
        Self(number)
    }

    /// Returns the handle as a number.
    pub const fn number(self) -> usize {
        self.0
    }
}

impl fmt::Debug for StreamHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stream {:#x}", self.0)
    }
}

/// How an array of Python names its stream: an attribute, whose object has a method that returns a
/// capsule of the handle. A capsule and no number, because Python code can return any number.
#[derive(Clone, Copy, Debug)]
pub struct ArrayStream {
    #[cfg_attr(not(feature = "pyo3"), expect(dead_code, reason = "there are no arrays of Python"))]
    pub(crate) names: (&'static str, &'static str, &'static CStr),
}

impl ArrayStream {
    /// The attribute of the array, the method of that object, without arguments, and the name of the
    /// capsule that it returns.
    pub const fn new(
        attribute: &'static str,
        method: &'static str,
        capsule: &'static CStr,
    ) -> Self {
        Self { names: (attribute, method, capsule) }
    }
}

/// The stream, and the event, of devices without streams: the work of a call is done when
/// the call returns. It has no size, and its functions compile to nothing.
#[derive(Clone, Copy, Debug)]
pub struct NoStream;

// SAFETY: 1. to 11. The work of a call is done when the call returns, so it is in order,
// and there is nothing to wait for.
unsafe impl Stream for NoStream {
    type Event = NoStream;

    const IN_ORDER: bool = true;
    const GRAPHS: bool = false;

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
