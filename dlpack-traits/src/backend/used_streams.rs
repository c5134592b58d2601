//! Orders a producer's work before a consumer's work, and a free after it: [`sync_for`],
//! [`UsedStreams`].
//!
//! The standard allows a consumer to release a tensor while its kernels run, and does not
//! say when the memory may be freed then. Each export therefore records the consumer's
//! stream, and a free waits on the device for all of them. CUDA does not count references
//! to streams, and consumers close them: such a stream is recorded only if the consumer
//! promised that it lasts (`StreamArg::lasting`), and otherwise the free waits for the
//! whole device. If that is impossible too, the export is rejected.
//!
//! The record is limited, because a program that creates a stream for each use would fill
//! the memory and slow down each export. An entry cannot be removed: a consumer may use its
//! stream until it releases its tensor, and a release does not name the stream.

use core::fmt;
use core::sync::atomic::{AtomicBool, Ordering};

use super::append_list::AppendList;
use super::backend_trait::{check_stream, is_read_by_host};
use super::stream_rules::{HandleLifetime, SyncAction};
use super::{Backend, Stream, StreamHandle, WorkStream};
use crate::device::Device;
use crate::error::Error;
use crate::stream_arg::{StreamArg, StreamKind};

/// Synchronizes with the consumer's stream: orders the work on `ours` before what the
/// consumer will do on its stream, by an event that is recorded on `ours` and for which the
/// consumer's stream waits. The host does not wait, with two exceptions: the consumer is
/// the host; or the consumer names no stream and a wait is required, by the rules of the
/// device, or because the memory is pinned or managed.
///
/// Use this for a storage whose memory is not freed while any work uses it;
/// [`UsedStreams::sync_for`] also records the consumer's stream for the free.
///
/// # Errors
///
/// [`Error::StreamRefused`] and [`Error::StreamOnHost`] by the rules of the device, and
/// those of its runtime.
#[inline]
pub fn sync_for<B: Backend>(ours: &WorkStream<B>, consumer: StreamArg<'_>) -> Result<(), Error> {
    if B::RULES.has_streams() { order::<B>(ours, consumer, |_| Ok(())) } else { consumer.host() }
}

/// Where a consumer will use the memory.
enum Consumer<'a, S> {
    /// On a stream that can be named as long as it is kept.
    On(StreamHandle, &'a S),
    /// On a stream whose handle may become invalid.
    Elsewhere,
}

/// As [`order`], for a consumer on a stream that may be kept.
fn order_on<B: Backend>(
    ours: &WorkStream<B>,
    theirs: &WorkStream<B>,
    remember: impl FnOnce(Consumer<'_, B::Stream>) -> Result<(), Error>,
) -> Result<(), Error> {
    if B::RULES.number_of(theirs.handle()) == B::RULES.number_of(ours.handle()) {
        return ours.stream().fence();
    }
    theirs.stream().can_follow(ours.stream())?;
    // `remember` may keep it: 1 of `WorkStream::new`.
    remember(Consumer::On(theirs.handle(), theirs.stream()))?;
    let event = ours.stream().record()?;
    theirs.stream().wait(&event)
}

/// Synchronizes with the consumer's stream. Before anything is enqueued, `remember` is
/// called with the consumer's stream, unless that is the producer's own.
fn order<B: Backend>(
    ours: &WorkStream<B>,
    consumer: StreamArg<'_>,
    remember: impl FnOnce(Consumer<'_, B::Stream>) -> Result<(), Error>,
) -> Result<(), Error> {
    let device = ours.device();
    if let Some(theirs) = consumer.device() {
        check_stream::<B>(theirs, device)?;
    }
    if consumer.kind() == StreamKind::WorkStream {
        return order_on::<B>(ours, &WorkStream::current(device)?, remember);
    }
    let decision = B::RULES.decide(device, ours.handle(), consumer.kind())?;
    // NumPy accepts pinned and managed memory, does not have streams, and reads at once.
    if consumer.kind() == StreamKind::Unspecified && is_read_by_host::<B>(device) {
        if ours.stream().is_captured()? {
            // A wait would invalidate the capture.
            let what = "wait of the host for a stream that is captured";
            return Err(Error::Unsupported { device, what });
        }
        ours.synchronize()?;
    }
    match decision {
        SyncAction::Same => ours.stream().fence(),
        SyncAction::Wait => ours.synchronize(),
        SyncAction::NoSync => remember(Consumer::Elsewhere),
        SyncAction::Order { theirs, lives } => {
            // SAFETY: 1. `consumer` names a stream of the tensor's device that is alive
            // until `consumer` is dropped (1 of `StreamArg::from_handle`; a device
            // that it names was compared above), or the rules put
            // a default stream instead (2 of `Backend`). Where streams do not last,
            // the stream is kept only if it is such a default stream, or if the consumer
            // promised that it lasts (1 of `StreamArg::lasting`).
            let stream = unsafe { B::borrow_stream(device, theirs) }?;
            stream.can_follow(ours.stream())?;
            remember(match lives {
                HandleLifetime::Always => Consumer::On(theirs, &stream),
                HandleLifetime::Now if B::STREAMS_LAST || consumer.lasts() => {
                    Consumer::On(theirs, &stream)
                }
                HandleLifetime::Now | HandleLifetime::OnThisThread => Consumer::Elsewhere,
            })?;
            let event = ours.stream().record()?;
            stream.wait(&event)
        }
    }
}

/// The streams on which consumers use memory. Each hand-off records one; before the memory
/// is freed, a stream waits for all of them.
///
/// A storage has one beside its memory. It takes no lock.
///
/// Up to 256 streams are recorded, each once. A consumer on any further stream is treated
/// like one that names no stream: only the device of its work is known.
///
/// A consumer may release a tensor while its kernels still read it. Memory therefore must
/// not be freed in the order of the producer's stream alone.
pub struct UsedStreams<B: Backend> {
    streams: AppendList<Use<B::Stream>>,
    /// Whether a consumer uses the memory on a stream that cannot be named.
    elsewhere: AtomicBool,
}

/// The maximum number of recorded streams: it bounds the memory for a consumer that creates
/// a new stream for each use of long-lived memory.
const MOST: usize = if cfg!(miri) { 16 } else { 256 };

/// A stream on which the memory is used.
struct Use<S> {
    handle: StreamHandle,
    stream: S,
}

impl<S: Stream> Use<S> {
    /// Whether this entry is for that stream.
    fn is_on(&self, handle: StreamHandle, stream: &S) -> bool {
        self.stream.is_same(stream).unwrap_or(self.handle == handle)
    }
}

impl<B: Backend> UsedStreams<B> {
    /// An empty list: no consumer uses the memory.
    pub const fn new() -> Self {
        Self { streams: AppendList::new(), elsewhere: AtomicBool::new(false) }
    }

    /// Synchronizes with the consumer as [`sync_for`] does, and records its stream.
    ///
    /// # Errors
    ///
    /// Those of [`sync_for`]. Where the device cannot be synchronized as a whole:
    /// [`Error::StreamUntracked`] if the consumer's stream cannot be recorded, and
    /// [`Error::Unsupported`] if there are too many streams.
    #[inline]
    pub fn sync_for(&self, ours: &WorkStream<B>, consumer: StreamArg<'_>) -> Result<(), Error> {
        if !B::RULES.has_streams() {
            return consumer.host();
        }
        order::<B>(ours, consumer, |user| self.record(ours.device(), &user))
    }

    /// Synchronizes with a consumer on a stream of this program as [`sync_for`] does, and
    /// records the stream.
    ///
    /// # Errors
    ///
    /// Those of [`Self::sync_for`].
    pub(super) fn order_on(
        &self,
        ours: &WorkStream<B>,
        theirs: &WorkStream<B>,
    ) -> Result<(), Error> {
        if !B::RULES.has_streams() {
            return Ok(());
        }
        order_on::<B>(ours, theirs, |user| self.record(ours.device(), &user))
    }

    /// Records where a consumer uses the memory.
    fn record(&self, device: Device, user: &Consumer<'_, B::Stream>) -> Result<(), Error> {
        match *user {
            Consumer::On(handle, stream) if self.remember(handle, stream) => Ok(()),
            _ if B::SYNCHRONIZE_DEVICE.is_some() => {
                self.elsewhere.store(true, Ordering::Release);
                Ok(())
            }
            Consumer::Elsewhere => Err(Error::StreamUntracked { device }),
            Consumer::On(..) => {
                let what = "record of more than 256 streams for one tensor";
                Err(Error::Unsupported { device, what })
            }
        }
    }

    /// Makes `ours` wait for all uses so far on recorded streams: later work on it, such as
    /// a free, is ordered after them, and after all work that was enqueued on it before.
    ///
    /// # Errors
    ///
    /// Those of the runtime, and [`Error::Unsupported`] if one of the streams is being
    /// captured. The memory must then not be freed.
    pub fn order_before(&self, ours: &WorkStream<B>) -> Result<(), Error> {
        let others = || self.iter().filter(|used| !used.is_on(ours.handle(), ours.stream()));
        let device = ours.device();
        let elsewhere = || others().next().is_some() || self.elsewhere();
        if elsewhere() && ours.stream().is_captured()? {
            // A graph cannot wait for work outside of it, and the host must not wait for
            // the device during a capture: either would invalidate the capture.
            let what = "free in the order of a stream that is captured";
            return Err(Error::Unsupported { device, what });
        }
        for used in others() {
            // Waiting for it would add `ours` to the graph of another owner.
            if used.stream.is_captured()? {
                let what = "free after work of a graph";
                return Err(Error::Unsupported { device, what });
            }
            let event = used.stream.record()?;
            ours.stream().wait(&event)?;
        }
        ours.stream().fence()
    }

    /// Whether the memory may be in use on a stream that was not recorded. It must then not
    /// be freed before all work of the device is done: [`Backend::SYNCHRONIZE_DEVICE`].
    pub fn elsewhere(&self) -> bool {
        self.elsewhere.load(Ordering::Acquire)
    }

    /// Records a stream, unless it is recorded already. Returns `false` if there are too
    /// many.
    fn remember(&self, handle: StreamHandle, stream: &B::Stream) -> bool {
        let mut known = 0_usize;
        for used in self.iter() {
            if used.is_on(handle, stream) {
                return true;
            }
            known = known.saturating_add(1);
        }
        // Concurrent calls may each add one more.
        if known >= MOST {
            return false;
        }
        // Two threads may add the same stream twice; a free then waits for it twice.
        self.streams.append(Use { handle, stream: stream.clone() });
        true
    }

    /// All recorded streams, the latest first.
    fn iter(&self) -> impl Iterator<Item = &Use<B::Stream>> {
        self.streams.iter()
    }
}

impl<B: Backend> Default for UsedStreams<B> {
    fn default() -> Self {
        Self::new()
    }
}

impl<B: Backend> fmt::Debug for UsedStreams<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(|used| used.handle)).finish()
    }
}
