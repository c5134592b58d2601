//! Ordering a producer's work before a consumer's, and a free after it:
//! [`hand_off`], [`Uses`].

use alloc::boxed::Box;
use core::fmt;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use super::rules::{Decision, Lives};
use super::{Backend, Stream, StreamHandle, StreamRules, WorkStream};
use crate::error::Error;
use crate::stream::{StreamArg, StreamKind};

/// Orders the work on `ours` before what the consumer will do on its stream:
/// records on ours, makes theirs wait. The host waits for nothing, unless the
/// consumer is the host, or one that names no stream where the rules say so, or
/// where the processor can read the memory.
///
/// This suits a storage whose memory is not freed while any work uses it;
/// [`Uses::hand_off`] remembers the consumer's stream for the free.
///
/// # Errors
///
/// [`Error::StreamRefused`] and [`Error::StreamOnHost`] by the rules of the
/// device, and those of its runtime.
#[inline]
pub fn hand_off<B: Backend>(ours: &WorkStream<B>, consumer: StreamArg<'_>) -> Result<(), Error> {
    if B::RULES.has_streams() { order::<B>(ours, consumer, |_| Ok(())) } else { consumer.host() }
}

/// Who will use the memory, seen from the moment of a hand-off.
enum Consumer<'a, S> {
    /// A stream that can be named as long as it is kept.
    On(StreamHandle, &'a S),
    /// A stream that has no name that lasts.
    Elsewhere,
}

/// The hand-off. Before anything is enqueued, `remember` learns who the
/// consumer is, if that is not the producer's own stream.
fn order<B: Backend>(
    ours: &WorkStream<B>,
    consumer: StreamArg<'_>,
    remember: impl FnOnce(Consumer<'_, B::Stream>) -> Result<(), Error>,
) -> Result<(), Error> {
    let device = ours.device();
    if consumer.kind() == StreamKind::WorkStream {
        let theirs = WorkStream::<B>::current(device)?;
        if B::RULES.number_of(theirs.handle()) == B::RULES.number_of(ours.handle()) {
            return ours.stream().fence();
        }
        theirs.stream().can_follow(ours.stream())?;
        // It may be kept: 1 of `WorkStream::new`.
        remember(Consumer::On(theirs.handle(), theirs.stream()))?;
        let event = ours.stream().record()?;
        return theirs.stream().wait(&event);
    }
    let decision = B::RULES.decide(device, ours.handle(), consumer.kind())?;
    if StreamRules::may_be_read_at_once(device, consumer.kind()) {
        if ours.stream().is_captured()? {
            // A wait would spoil the graph.
            let what = "wait of the host for a stream that is captured";
            return Err(Error::Unsupported { device, what });
        }
        ours.synchronize()?;
    }
    match decision {
        Decision::Same => ours.stream().fence(),
        Decision::Wait => ours.synchronize(),
        Decision::NoSync => remember(Consumer::Elsewhere),
        Decision::Order { theirs, lives } => {
            // SAFETY: 1. `consumer` names a stream of the tensor's device that is
            // alive until it is dropped (1 of `StreamArg::from_handle`), or the
            // rules put a default stream in its place (2 of `Backend`). Where
            // streams do not last, it is kept only if it is such a one, or if
            // the consumer promised more (1 of `StreamArg::lasting`).
            let stream = unsafe { B::borrow_stream(device, theirs) }?;
            stream.can_follow(ours.stream())?;
            remember(match lives {
                Lives::Always => Consumer::On(theirs, &stream),
                Lives::Now if B::STREAMS_LAST || consumer.lasts() => Consumer::On(theirs, &stream),
                Lives::Now | Lives::OnThisThread => Consumer::Elsewhere,
            })?;
            let event = ours.stream().record()?;
            stream.wait(&event)
        }
    }
}

/// The streams on which consumers use memory: remembered at each hand-off, and
/// waited for, by a stream, before the memory is freed.
///
/// A storage has one beside its memory. It takes no lock.
///
/// Up to 256 streams are remembered, each once. Of who comes on one more than that
/// nothing is known but that it is a stream of the device, as of who names none.
///
/// A consumer may release a tensor while its kernels still read it. So memory
/// must not be freed in the order of the producer's stream alone.
pub struct Uses<B: Backend> {
    /// The latest; each knows the one before. An `AtomicPtr` may be used on any
    /// thread, whatever it points to; what this one owns may too, as streams may.
    streams: AtomicPtr<Use<B::Stream>>,
    /// Whether somebody uses the memory on a stream that cannot be named.
    elsewhere: AtomicBool,
}

/// As many streams as are remembered: who makes a new one for each use of memory
/// that stays must not fill the machine with them.
const MOST: usize = 256;

/// A stream on which the memory is used.
struct Use<S> {
    handle: StreamHandle,
    stream: S,
    before: *mut Use<S>,
}

impl<S: Stream> Use<S> {
    /// Whether it is on that stream.
    fn is_on(&self, handle: StreamHandle, stream: &S) -> bool {
        self.stream.is_same(stream).unwrap_or(self.handle == handle)
    }
}

impl<B: Backend> Uses<B> {
    /// Nobody but the producer.
    pub const fn new() -> Self {
        Self { streams: AtomicPtr::new(ptr::null_mut()), elsewhere: AtomicBool::new(false) }
    }

    /// [`hand_off`], and remembers the consumer's stream.
    ///
    /// # Errors
    ///
    /// Those of [`hand_off`], and [`Error::StreamUntracked`] where nobody could
    /// say when the consumer is done, or [`Error::Unsupported`] where that is because
    /// its stream is one too many.
    #[inline]
    pub fn hand_off(&self, ours: &WorkStream<B>, consumer: StreamArg<'_>) -> Result<(), Error> {
        if !B::RULES.has_streams() {
            return consumer.host();
        }
        order::<B>(ours, consumer, |user| match user {
            Consumer::On(handle, stream) if self.remember(handle, stream) => Ok(()),
            _ if B::SYNCHRONIZE_DEVICE.is_some() => {
                self.elsewhere.store(true, Ordering::Release);
                Ok(())
            }
            Consumer::Elsewhere => Err(Error::StreamUntracked { device: ours.device() }),
            Consumer::On(..) => {
                let what = "record of more than 256 streams for one tensor";
                Err(Error::Unsupported { device: ours.device(), what })
            }
        })
    }

    /// Makes `ours` wait for every use so far on a stream that is known: what is
    /// enqueued on it then, such as a free, comes after them, and after all that was
    /// enqueued on it before.
    ///
    /// # Errors
    ///
    /// Those of the runtime, and [`Error::Unsupported`] where one of the streams is
    /// captured. The memory must not be freed then.
    pub fn order_before(&self, ours: &WorkStream<B>) -> Result<(), Error> {
        let others = || self.iter().filter(|used| !used.is_on(ours.handle(), ours.stream()));
        let device = ours.device();
        let elsewhere = || others().next().is_some() || self.elsewhere();
        if elsewhere() && ours.stream().is_captured()? {
            // A graph cannot wait for what is none of its work, nor may the host wait
            // for the device then: either would spoil it.
            let what = "free in the order of a stream that is captured";
            return Err(Error::Unsupported { device, what });
        }
        for used in others() {
            // Waiting for it would make ours a part of somebody's graph.
            if used.stream.is_captured()? {
                let what = "free after work of a graph";
                return Err(Error::Unsupported { device, what });
            }
            let event = used.stream.record()?;
            ours.stream().wait(&event)?;
        }
        ours.stream().fence()
    }

    /// Whether the memory may be in use on a stream that is not known. It must
    /// not be freed then before all work of the device is done:
    /// [`Backend::SYNCHRONIZE_DEVICE`].
    pub fn elsewhere(&self) -> bool {
        self.elsewhere.load(Ordering::Acquire)
    }

    /// Adds a stream, unless it is known. `false` where there are too many.
    fn remember(&self, handle: StreamHandle, stream: &B::Stream) -> bool {
        let mut known = 0_usize;
        for used in self.iter() {
            if used.is_on(handle, stream) {
                return true;
            }
            known = known.saturating_add(1);
        }
        // Threads that come here at once may add one more each.
        if known >= MOST {
            return false;
        }
        let mut before = self.streams.load(Ordering::Relaxed);
        // Two threads that add the same stream add it twice: it is waited for twice.
        let new = Box::into_raw(Box::new(Use { handle, stream: stream.clone(), before }));
        loop {
            // SAFETY: nobody else knows the new use until it is in the list.
            unsafe { (*new).before = before };
            // Release: who finds the use finds it complete.
            let outcome = self.streams.compare_exchange_weak(
                before,
                new,
                Ordering::Release,
                Ordering::Relaxed,
            );
            match outcome {
                Ok(_) => return true,
                Err(latest) => before = latest,
            }
        }
    }

    /// All streams, the latest first.
    fn iter(&self) -> impl Iterator<Item = &Use<B::Stream>> {
        let mut next = self.streams.load(Ordering::Acquire);
        core::iter::from_fn(move || {
            // SAFETY: a use in the list is complete, does not change, and stays
            // until `self`, which is borrowed, is dropped.
            let used = unsafe { next.as_ref() }?;
            next = used.before;
            Some(used)
        })
    }
}

impl<B: Backend> Drop for Uses<B> {
    fn drop(&mut self) {
        let mut next = *self.streams.get_mut();
        while !next.is_null() {
            // SAFETY: `remember` made it of a box, and nobody else has the list.
            let used = unsafe { Box::from_raw(next) };
            next = used.before;
        }
    }
}

impl<B: Backend> Default for Uses<B> {
    fn default() -> Self {
        Self::new()
    }
}

impl<B: Backend> fmt::Debug for Uses<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(|used| used.handle)).finish()
    }
}
