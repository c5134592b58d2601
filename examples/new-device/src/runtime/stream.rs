//! Streams: threads that do what was enqueued, in order. Events: marks in it.

use core::cell::RefCell;
use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::collections::BTreeMap;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, JoinHandle};

use super::memory::Memory;
use super::{Address, BAD_ADDRESS, Code, DEVICES, NO_DEVICE, NO_STREAM, device_of, memory_of};

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An event, set by a stream or by the host.
#[derive(Clone, Debug, Default)]
pub struct Event(Arc<(Mutex<bool>, Condvar)>);

impl Event {
    /// An event that only [`set`](Self::set) sets.
    pub fn of_host() -> Self {
        Self::default()
    }

    /// Sets the event and wakes the threads that wait for it.
    pub fn set(&self) {
        *lock(&self.0.0) = true;
        self.0.1.notify_all();
    }

    fn wait(&self) {
        let mut reached = lock(&self.0.0);
        while !*reached {
            reached = self.0.1.wait(reached).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

type Work = Box<dyn FnOnce(&Memory) -> Result<(), Code> + Send>;

/// A queue of work on a device. Clones are the same queue. After the last one is
/// gone, what was enqueued is still done.
#[derive(Clone, Debug)]
pub struct Stream(Arc<Queue>);

#[derive(Debug)]
struct Queue {
    device: usize,
    handle: usize,
    work: Sender<Work>,
    /// The first failure of the work.
    failure: Arc<Mutex<Option<Code>>>,
}

/// The streams that are alive, by their handles.
static STREAMS: Mutex<BTreeMap<usize, Weak<Queue>>> = Mutex::new(BTreeMap::new());
/// The default stream of each device, created on first use.
static DEFAULTS: Mutex<[Option<Stream>; DEVICES]> = Mutex::new([const { None }; DEVICES]);
/// The threads of all streams.
static THREADS: Mutex<Vec<JoinHandle<()>>> = Mutex::new(Vec::new());

thread_local! {
    static CURRENT: RefCell<[Option<Stream>; DEVICES]> = const { RefCell::new([const { None }; DEVICES]) };
}

impl Stream {
    /// A new queue on a device.
    pub fn new(device: usize) -> Result<Self, Code> {
        static NEXT: AtomicUsize = AtomicUsize::new(0x100);
        let memory = memory_of(device)?;
        let (work, enqueued) = channel::<Work>();
        let failure = Arc::new(Mutex::new(None));
        let failed = Arc::clone(&failure);
        lock(&THREADS).push(thread::spawn(move || {
            for work in enqueued {
                if let Err(code) = work(memory) {
                    lock(&failed).get_or_insert(code);
                }
            }
        }));
        let handle = NEXT.fetch_add(1, Ordering::Relaxed);
        let queue = Arc::new(Queue { device, handle, work, failure });
        lock(&STREAMS).insert(handle, Arc::downgrade(&queue));
        Ok(Self(queue))
    }

    /// Its handle in C code.
    pub fn handle(&self) -> usize {
        self.0.handle
    }

    /// Its device.
    pub fn device(&self) -> usize {
        self.0.device
    }

    fn enqueue(&self, work: impl FnOnce(&Memory) -> Result<(), Code> + Send + 'static) {
        // The thread lives as long as the queue, so it takes the work.
        let _ = self.0.work.send(Box::new(work));
    }

    /// Enqueues an event.
    pub fn record(&self) -> Event {
        let event = Event::default();
        let mark = event.clone();
        self.enqueue(move |_| {
            mark.set();
            Ok(())
        });
        event
    }

    /// Makes work that is enqueued from now on wait for an event.
    pub fn wait(&self, event: &Event) {
        let event = event.clone();
        self.enqueue(move |_| {
            event.wait();
            Ok(())
        });
    }

    /// Waits on the host until everything is done; the first failure, if any.
    pub fn synchronize(&self) -> Result<(), Code> {
        self.record().wait();
        lock(&self.0.failure).map_or(Ok(()), Err)
    }

    /// Zeroed memory, at once.
    pub fn allocate(&self, byte_len: usize) -> Result<Address, Code> {
        memory_of(self.device())?.allocate(byte_len)
    }

    /// Enqueues the end of an allocation.
    pub fn free(&self, address: Address) {
        self.enqueue(move |memory| memory.free(address));
    }

    /// Enqueues a kernel that writes one value into all `f32`s of a range, in bytes.
    pub fn fill(&self, address: Address, bytes: Range<usize>, value: f32) {
        self.enqueue(move |memory| {
            memory.access(address, bytes, |bytes| {
                for element in bytes.chunks_exact_mut(4) {
                    element.copy_from_slice(&value.to_ne_bytes());
                }
            })
        });
    }

    /// Enqueues a kernel that adds up the `f32`s of a range, in bytes, and writes
    /// the sum to the start of another allocation.
    pub fn sum(&self, from: Address, bytes: Range<usize>, to: Address) {
        self.enqueue(move |memory| {
            let number = |bytes: &[u8]| f32::from_ne_bytes(bytes.try_into().unwrap_or_default());
            let sum = memory
                .access(from, bytes, |bytes| bytes.chunks_exact(4).map(number).sum::<f32>())?;
            memory.access(to, 0..4, |bytes| bytes.copy_from_slice(&sum.to_ne_bytes()))
        });
    }

    /// Enqueues a copy within the device, or between two devices.
    pub fn copy(&self, from: (Address, usize), to: (Address, usize), byte_len: usize) {
        self.enqueue(move |_| {
            let memory = |address| memory_of(device_of(address).ok_or(BAD_ADDRESS)?);
            let bytes = memory(from.0)?.access(from.0, span(from.1, byte_len), |b| b.to_vec())?;
            memory(to.0)?.access(to.0, span(to.1, byte_len), |to| to.copy_from_slice(&bytes))
        });
    }

    /// Enqueues a copy to the device.
    ///
    /// # Safety
    ///
    /// 1. Until it is done, `from` may be read for `byte_len` bytes.
    pub unsafe fn copy_from_host(&self, from: *const u8, to: (Address, usize), byte_len: usize) {
        let from = OfHost(from.cast_mut());
        self.enqueue(move |memory| {
            memory.access(to.0, span(to.1, byte_len), |to| {
                let from = from.as_ptr();
                // SAFETY: by 1, and memory of the device is apart from it.
                unsafe { from.copy_to_nonoverlapping(to.as_mut_ptr(), to.len()) };
            })
        });
    }

    /// Enqueues a copy to the host.
    ///
    /// # Safety
    ///
    /// 1. Until it is done, `to` may be written for `byte_len` bytes.
    pub unsafe fn copy_to_host(&self, from: (Address, usize), to: *mut u8, byte_len: usize) {
        let to = OfHost(to);
        self.enqueue(move |memory| {
            memory.access(from.0, span(from.1, byte_len), |from| {
                let to = to.as_ptr();
                // SAFETY: by 1, and memory of the device is apart from it.
                unsafe { from.as_ptr().copy_to_nonoverlapping(to, from.len()) };
            })
        });
    }
}

/// The bytes of a copy in an allocation. A range beyond its end is a fault.
fn span(start: usize, byte_len: usize) -> Range<usize> {
    start..start.saturating_add(byte_len)
}

/// An address of the host on its way to the thread of a stream.
struct OfHost(*mut u8);

// SAFETY: it is followed only while its caller keeps it valid, by 1 of the copies.
unsafe impl Send for OfHost {}

impl OfHost {
    fn as_ptr(&self) -> *mut u8 {
        self.0
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        lock(&STREAMS).remove(&self.handle);
    }
}

/// The stream with that handle.
pub fn find_stream(device: usize, handle: usize) -> Result<Stream, Code> {
    let stream = lock(&STREAMS).get(&handle).and_then(Weak::upgrade).map(Stream);
    stream.filter(|stream| stream.device() == device).ok_or(NO_STREAM)
}

/// The default stream.
pub fn default_stream(device: usize) -> Result<Stream, Code> {
    let mut defaults = lock(&DEFAULTS);
    let default = defaults.get_mut(device).ok_or(NO_DEVICE)?;
    match default {
        Some(stream) => Ok(stream.clone()),
        None => Ok(default.insert(Stream::new(device)?).clone()),
    }
}

/// The stream on which this thread works.
pub fn current_stream(device: usize) -> Result<Stream, Code> {
    let current = CURRENT.with_borrow(|current| current.get(device).cloned().ok_or(NO_DEVICE))?;
    current.map_or_else(|| default_stream(device), Ok)
}

/// Works on another stream for the time of a call.
pub fn with_stream<R>(stream: &Stream, run: impl FnOnce() -> R) -> R {
    /// Puts the stream back that was current, also after a panic.
    struct Before(usize, Option<Stream>);
    impl Drop for Before {
        fn drop(&mut self) {
            CURRENT.with_borrow_mut(|current| current[self.0] = self.1.take());
        }
    }
    let device = stream.device();
    let before = CURRENT.with_borrow_mut(|current| current[device].replace(stream.clone()));
    let _before = Before(device, before);
    run()
}

/// Number of streams whose work is not finished, including streams without an owner.
pub fn streams_at_work() -> usize {
    let mut threads = lock(&THREADS);
    threads.retain(|thread| !thread.is_finished());
    threads.len()
}

/// Ends the default streams, and waits until the work of all streams is done.
/// Every other stream must be gone.
pub fn shutdown() {
    let defaults = core::mem::take(&mut *lock(&DEFAULTS));
    drop(defaults);
    let threads = core::mem::take(&mut *lock(&THREADS));
    for thread in threads {
        // The panic hook has reported a thread that panicked.
        let _ = thread.join();
    }
}
