//! All objects, behind one lock: [`State`].

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::capture::{Capture, Clock};
use crate::fault::Faults;
use crate::fence::Fence;
use crate::kernel::Kernel;
use crate::memory::Memory;
use crate::status::Status;
use crate::stream::{Stream, Which};
use crate::work::Work;

/// A device and its primary context.
#[derive(Clone, Debug)]
pub(crate) struct Device {
    /// How often its primary context was retained.
    pub(crate) retained: usize,
    /// How often its primary context was reset.
    pub(crate) resets: u64,
    /// The error of the device. Every later call returns it.
    pub(crate) failed: Option<Status>,
    /// Whether it allocates in the order of streams.
    pub(crate) has_pools: bool,
}

/// The latest record of an event.
#[derive(Clone, Debug)]
pub(crate) enum Recorded {
    /// Nothing.
    Never,
    /// The work of a stream up to a moment.
    Work(Arc<Fence>),
    /// A moment in a capture.
    Captured(usize, Clock),
}

/// An event.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) ordinal: usize,
    pub(crate) recorded: Recorded,
}

/// Everything that exists.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) initialized: bool,
    pub(crate) devices: Vec<Device>,
    pub(crate) memory: Memory,
    pub(crate) streams: HashMap<Which, Stream>,
    /// The remaining work of destroyed streams, with their devices.
    pub(crate) departed: Vec<(usize, Arc<Fence>)>,
    pub(crate) events: HashMap<usize, Event>,
    pub(crate) captures: HashMap<usize, Capture>,
    pub(crate) graphs: HashMap<usize, Arc<[Work]>>,
    pub(crate) executables: HashMap<usize, Arc<[Work]>>,
    pub(crate) modules: HashMap<usize, Vec<Kernel>>,
    pub(crate) functions: HashMap<usize, (usize, Kernel)>,
    pub(crate) faults: Faults,
    /// How long everything takes, at least.
    pub(crate) delay: Duration,
    /// Whether questions about pointers need a current context.
    pub(crate) attributes_need_context: bool,
    next_handle: usize,
}

static STATE: LazyLock<Mutex<State>> = LazyLock::new(|| {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u32>().ok());
    let devices = number("GPU_SIMULATOR_DEVICES").unwrap_or(2);
    let delay = number("GPU_SIMULATOR_DELAY_US").unwrap_or(0);
    Mutex::new(State {
        initialized: false,
        devices: vec![
            Device { retained: 0, resets: 0, failed: None, has_pools: true };
            usize::try_from(devices).unwrap_or(0)
        ],
        memory: Memory::default(),
        streams: HashMap::new(),
        departed: Vec::new(),
        events: HashMap::new(),
        captures: HashMap::new(),
        graphs: HashMap::new(),
        executables: HashMap::new(),
        modules: HashMap::new(),
        functions: HashMap::new(),
        faults: Faults::default(),
        delay: Duration::from_micros(delay.into()),
        attributes_need_context: false,
        next_handle: 0x5100_0000,
    })
});

/// Locks the state. Waiting for a fence while it is held would deadlock.
pub(crate) fn lock() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A number for the calling thread that no other thread ever has.
pub(crate) fn thread_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    thread_local! {
        static ID: u64 = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    ID.with(|id| *id)
}

impl State {
    /// Returns a handle that was never used.
    pub(crate) fn new_handle(&mut self) -> usize {
        self.next_handle += 0x40;
        self.next_handle
    }

    /// An error where the device failed before.
    pub(crate) fn check(&self, ordinal: usize) -> Result<(), Status> {
        self.devices[ordinal].failed.map_or(Ok(()), Err)
    }

    /// The stream behind a handle, for a device that is current.
    pub(crate) fn stream_of(&mut self, ordinal: usize, handle: usize) -> Result<Which, Status> {
        let which = match handle {
            0 | 1 => Which::Legacy(ordinal),
            2 => Which::PerThread(ordinal, thread_id()),
            made => Which::Made(made),
        };
        if !matches!(which, Which::Made(_)) {
            self.streams.entry(which).or_insert_with(|| Stream::start(ordinal, true));
        }
        if self.streams.contains_key(&which) { Ok(which) } else { Err(Status::INVALID_HANDLE) }
    }

    /// Asks a stream for work, or records it where the stream is captured.
    pub(crate) fn enqueue(&mut self, which: Which, work: Work) -> Result<Arc<Fence>, Status> {
        self.enqueue_after(which, work, None)
    }

    /// The same, after something else too.
    pub(crate) fn enqueue_after(
        &mut self,
        which: Which,
        work: Work,
        after: Option<Arc<Fence>>,
    ) -> Result<Arc<Fence>, Status> {
        let stream = self.streams.get(&which).ok_or(Status::INVALID_HANDLE)?;
        let (ordinal, blocking) = (stream.ordinal, stream.blocking);
        self.check(ordinal)?;
        if let Some(capture) = stream.capture.and_then(|id| self.captures.get_mut(&id)) {
            capture.record(which, work)?;
            return Ok(Fence::passed());
        }
        let legacy = Which::Legacy(ordinal);
        let mut before: Vec<_> = after.into_iter().collect();
        if which == legacy {
            self.check_implicit(ordinal)?;
            let turns = self.streams.values().filter(|s| s.ordinal == ordinal && s.blocking);
            before.extend(turns.map(|stream| Arc::clone(&stream.tail)));
        } else if blocking {
            before.extend(self.streams.get(&legacy).map(|stream| Arc::clone(&stream.tail)));
        }
        let stream = self.streams.get_mut(&which).ok_or(Status::INVALID_HANDLE)?;
        Ok(stream.push(work, before))
    }

    /// Returns the last work of each of a device's streams, including destroyed ones.
    pub(crate) fn tails(&mut self, ordinal: usize) -> Vec<Arc<Fence>> {
        self.departed.retain(|(_, tail)| tail.when().is_none());
        let departed = self.departed.iter().filter(|(device, _)| *device == ordinal);
        let own = self.streams.values().filter(|stream| stream.ordinal == ordinal);
        own.map(|stream| &stream.tail).chain(departed.map(|(_, tail)| tail)).cloned().collect()
    }

    /// The same for all devices.
    pub(crate) fn all_tails(&mut self) -> Vec<Arc<Fence>> {
        (0..self.devices.len()).flat_map(|ordinal| self.tails(ordinal)).collect()
    }
}
