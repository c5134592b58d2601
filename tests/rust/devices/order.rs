//! The calls of a synchronization and of a free, and their order: on streams that only
//! record their calls.

use core::cell::{Cell, RefCell};
use core::ptr::NonNull;

use tensors::backend::{
    Backend, DeviceBuffer, Event, FreeOrder, MemoryRange, MemoryType, Stream, StreamHandle,
    UsedStreams, WorkStream, sync_for,
};
use tensors::{DataType, Device, Error, StreamArg, ffi};

pub(super) const DEVICE: Device = Device::new(ffi::kDLExtDev, 0);

/// A queue that records no events.
pub(super) const FAILS: usize = 9;

/// A queue that waits for others, and that no queue can wait for.
pub(super) const NOT_FOLLOWED: usize = 8;

thread_local! {
    /// The calls of this thread's streams.
    static CALLS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    /// The handle of this thread's stream.
    static CURRENT: Cell<usize> = const { Cell::new(1) };
}

fn call(call: String) {
    CALLS.with_borrow_mut(|calls| calls.push(call));
}

/// Returns the calls since the last call of this function.
pub(super) fn calls() -> Vec<String> {
    CALLS.take()
}

/// A queue that is known by several handles: the last two digits are the queue, of
/// which the first is its context.
#[derive(Clone, Debug)]
pub(super) struct Logged(usize);

pub(super) struct Mark(usize);

// SAFETY: 1. It is a number.
unsafe impl Event for Mark {}

// SAFETY: 1. to 11. No work is ever enqueued, and a number is one queue.
unsafe impl Stream for Logged {
    type Event = Mark;

    const IN_ORDER: bool = false;
    const GRAPHS: bool = false;

    fn record(&self) -> Result<Mark, Error> {
        if self.0 == FAILS {
            return Err(Error::Custom("no event"));
        }
        call(format!("record {}", self.0));
        Ok(Mark(self.0))
    }

    fn wait(&self, mark: &Mark) -> Result<(), Error> {
        call(format!("{} waits for {}", self.0, mark.0));
        Ok(())
    }

    fn synchronize(&self) -> Result<(), Error> {
        call(format!("synchronize {}", self.0));
        Ok(())
    }

    fn can_follow(&self, producer: &Self) -> Result<(), Error> {
        if self.0 / 10 == producer.0 / 10 && producer.0 != NOT_FOLLOWED {
            return Ok(());
        }
        Err(Error::Unsupported { device: DEVICE, what: "order among contexts" })
    }

    fn fence(&self) -> Result<(), Error> {
        call(format!("fence {}", self.0));
        Ok(())
    }

    fn is_same(&self, other: &Self) -> Option<bool> {
        Some(self.0 == other.0)
    }
}

pub(super) struct Log<const SYNC: bool>;

// SAFETY: 1. There is one device. 2. and 3. A queue is a number. 4. No work is ever
// enqueued.
unsafe impl<const SYNC: bool> Backend for Log<SYNC> {
    const MEMORY_TYPES: &'static [MemoryType] = &[MemoryType::with_handles(ffi::kDLExtDev)];
    const STREAMS_LAST: bool = true;
    const SYNCHRONIZE_DEVICE: Option<fn(Device) -> Result<(), Error>> = if SYNC {
        Some(|_| {
            call("synchronize the device".to_owned());
            Ok(())
        })
    } else {
        None
    };
    type Stream = Logged;

    fn current_stream(_: Device) -> Result<WorkStream<Self>, Error> {
        Ok(named(CURRENT.get()))
    }

    unsafe fn borrow_stream(_: Device, handle: StreamHandle) -> Result<Logged, Error> {
        Ok(Logged(handle.number() % 100))
    }
}

/// A backend that does not define how long streams live.
struct Silent;

// SAFETY: 1. There is one device. 2. A queue is a number. 3. and 4. Neither is defined.
unsafe impl Backend for Silent {
    const MEMORY_TYPES: &'static [MemoryType] = &[MemoryType::with_handles(ffi::kDLExtDev)];
    type Stream = Logged;

    fn current_stream(device: Device) -> Result<WorkStream<Self>, Error> {
        // SAFETY: 1. and 2. It is a number.
        Ok(unsafe { WorkStream::new(device, StreamHandle::from_number(1), Logged(1)) })
    }

    unsafe fn borrow_stream(_: Device, handle: StreamHandle) -> Result<Logged, Error> {
        Ok(Logged(handle.number()))
    }
}

/// A stream that may be destroyed before the memory is freed is not kept unless the
/// backend allows it.
#[test]
fn stream_handles_are_not_kept_by_default() {
    let ours = WorkStream::<Silent>::current(DEVICE).unwrap();
    let uses = UsedStreams::new();
    assert_eq!(uses.sync_for(&ours, consumer(2)), Err(Error::StreamUntracked { device: DEVICE }));
    assert_eq!(format!("{uses:?}"), "[]");
    assert_eq!(calls(), [""; 0]);
}

/// The stream with that handle.
pub(super) fn named<const SYNC: bool>(handle: usize) -> WorkStream<Log<SYNC>> {
    named_on(DEVICE, handle)
}

/// The stream with that handle, on a device.
pub(super) fn named_on<const SYNC: bool>(device: Device, handle: usize) -> WorkStream<Log<SYNC>> {
    let handle = StreamHandle::from_number(handle);
    // SAFETY: 1. and 2. It is a number.
    unsafe { WorkStream::new(device, handle, Logged(handle.number() % 100)) }
}

pub(super) fn consumer(handle: usize) -> StreamArg<'static> {
    // SAFETY: 1. It is a number.
    unsafe { StreamArg::from_handle(handle) }
}

/// Says when the memory is freed.
struct Owner;

impl Drop for Owner {
    fn drop(&mut self) {
        call("free".to_owned());
    }
}

pub(super) fn buffer<const SYNC: bool>(handle: usize, freed: FreeOrder) -> DeviceBuffer<Log<SYNC>> {
    let (memory, stream) = (MemoryRange::new(NonNull::dangling(), 0), named(handle));
    // SAFETY: 1. to 5. The buffer has no bytes.
    unsafe { DeviceBuffer::from_raw_parts(memory, DataType::U8, stream, Owner, freed) }
}

#[test]
fn a_stream_of_another_device_is_refused() {
    let device = Device::new(ffi::kDLExtDev, 1);
    let theirs = named_on::<false>(device, 2);
    assert_eq!(theirs.as_arg().device(), Some(device));
    // SAFETY: 1. It is a number.
    let lasting = unsafe { theirs.as_arg().lasting() };
    let refused = Err(Error::DeviceMismatch { device, storage: DEVICE });
    let buffer = buffer::<false>(1, FreeOrder::StreamOrdered);
    for consumer in [theirs.as_arg(), lasting] {
        assert_eq!(sync_for(&named::<false>(1), consumer), refused);
        assert_eq!(buffer.sync_for(consumer), refused);
    }
    assert_eq!(calls(), [""; 0]);
    assert_eq!(consumer(2).device(), None, "the caller promised that it is the same");
}

#[test]
fn the_producer_records_and_the_consumer_waits() {
    sync_for(&named::<false>(1), consumer(2)).unwrap();
    assert_eq!(calls(), ["record 1", "2 waits for 1"]);
    let buffer = buffer::<false>(1, FreeOrder::StreamOrdered);
    buffer.sync_for(consumer(2)).unwrap();
    assert_eq!(calls(), ["record 1", "2 waits for 1"]);
    buffer.sync_for(consumer(3)).unwrap();
    calls();
    drop(buffer);
    // Streams are in reverse order, which does not matter; the free is last.
    let free = ["record 3", "1 waits for 3", "record 2", "1 waits for 2", "fence 1", "free"];
    assert_eq!(calls(), free);
}

#[test]
fn a_table_consumer_works_on_the_current_stream() {
    CURRENT.set(2);
    let buffer = buffer::<false>(1, FreeOrder::StreamOrdered);
    buffer.sync_for(StreamArg::work_stream()).unwrap();
    assert_eq!(calls(), ["record 1", "2 waits for 1"]);
    CURRENT.set(1);
    buffer.sync_for(StreamArg::work_stream()).unwrap();
    assert_eq!(calls(), ["fence 1"]);
    drop(buffer);
    assert_eq!(calls(), ["record 2", "1 waits for 2", "fence 1", "free"]);
}

#[test]
fn an_owner_that_frees_at_once_is_dropped_after_a_wait() {
    let buffer = buffer::<true>(1, FreeOrder::Immediate);
    buffer.sync_for(consumer(2)).unwrap();
    calls();
    drop(buffer.clone());
    assert_eq!(calls(), [""; 0], "there is an owner yet");
    drop(buffer);
    assert_eq!(calls(), ["record 2", "1 waits for 2", "fence 1", "synchronize 1", "free"]);
}

#[test]
fn an_unnamed_stream_is_waited_for_with_the_device() {
    let buffer = buffer::<true>(1, FreeOrder::StreamOrdered);
    buffer.sync_for(StreamArg::no_sync()).unwrap();
    assert_eq!(calls(), [""; 0]);
    drop(buffer);
    assert_eq!(calls(), ["fence 1", "synchronize the device", "free"]);
}

/// The consumer's work is ordered after the producer's, also where they share an
/// unordered queue.
#[test]
fn an_unordered_queue_shared_by_both_sides_is_fenced() {
    sync_for(&named::<false>(1), consumer(1)).unwrap();
    assert_eq!(calls(), ["fence 1"]);
}

/// No work is enqueued, and the stream is not recorded.
#[test]
fn a_stream_that_cannot_wait_is_refused() {
    let buffer = buffer::<true>(1, FreeOrder::StreamOrdered);
    CURRENT.set(12);
    for refused in [consumer(12), StreamArg::work_stream()] {
        let refused = buffer.sync_for(refused);
        assert!(matches!(refused, Err(Error::Unsupported { .. })), "{refused:?}");
    }
    CURRENT.set(1);
    assert_eq!(calls(), [""; 0]);
    drop(buffer);
    assert_eq!(calls(), ["fence 1", "free"]);
}

/// A queue of several names is one queue.
#[test]
fn handles_of_one_queue_are_recorded_once() {
    let uses = UsedStreams::<Log<false>>::new();
    for handle in [102, 202, 302, 102] {
        uses.sync_for(&named(1), consumer(handle)).unwrap();
    }
    calls();
    uses.order_before(&named(1)).unwrap();
    assert_eq!(calls(), ["record 2", "1 waits for 2", "fence 1"]);
    // The queue itself waits for nothing.
    uses.order_before(&named(2)).unwrap();
    assert_eq!(calls(), ["fence 2"]);
}

/// A name that was another queue's is not taken for that.
#[test]
fn a_reused_handle_is_a_new_queue() {
    let uses = UsedStreams::<Log<false>>::new();
    uses.sync_for(&named(1), consumer(2)).unwrap();
    calls();
    // SAFETY: 1. and 2. It is a number.
    let other = unsafe { WorkStream::new(DEVICE, StreamHandle::from_number(2), Logged(3)) };
    uses.order_before(&other).unwrap();
    assert_eq!(calls(), ["record 2", "3 waits for 2", "fence 3"]);
}

/// The list of streams is bounded: a program that creates a stream for each use of a
/// long-lived buffer does not exhaust the memory.
#[test]
fn the_list_of_streams_is_bounded() {
    // Miri would take a minute for the searches in a full list, which has fewer there.
    const MOST: usize = if cfg!(miri) { 16 } else { 256 };
    fn remembered<const SYNC: bool>() -> (Result<(), Error>, bool) {
        let uses = UsedStreams::<Many<SYNC>>::new();
        let ours = Many::current_stream(DEVICE).unwrap();
        for handle in (1..=MOST).chain(1..=MOST) {
            uses.sync_for(&ours, consumer(handle)).unwrap();
        }
        assert!(!uses.elsewhere());
        let one_more = uses.sync_for(&ours, consumer(MOST + 1));
        uses.sync_for(&ours, consumer(1)).unwrap();
        (one_more, uses.elsewhere())
    }
    assert_eq!(remembered::<true>(), (Ok(()), true), "the device will be waited for");
    // Where it cannot be waited for, the producer could not tell when that work has
    // finished.
    let (refused, elsewhere) = remembered::<false>();
    assert!(matches!(refused, Err(Error::Unsupported { .. })) && !elsewhere, "{refused:?}");
}

/// Streams that differ in their handles only.
struct Many<const SYNC: bool>;

#[derive(Clone)]
struct Quiet;

// SAFETY: 1. to 11. No work is ever enqueued, and a number is one queue.
unsafe impl Stream for Quiet {
    type Event = Mark;

    const IN_ORDER: bool = true;
    const GRAPHS: bool = false;

    fn record(&self) -> Result<Mark, Error> {
        Ok(Mark(0))
    }

    fn wait(&self, _: &Mark) -> Result<(), Error> {
        Ok(())
    }

    fn synchronize(&self) -> Result<(), Error> {
        Ok(())
    }
}

// SAFETY: 1. to 4. As of `Log`.
unsafe impl<const SYNC: bool> Backend for Many<SYNC> {
    const MEMORY_TYPES: &'static [MemoryType] = &[MemoryType::with_handles(ffi::kDLExtDev)];
    const STREAMS_LAST: bool = true;
    const SYNCHRONIZE_DEVICE: Option<fn(Device) -> Result<(), Error>> =
        if SYNC { Some(|_| Ok(())) } else { None };
    type Stream = Quiet;

    fn current_stream(_: Device) -> Result<WorkStream<Self>, Error> {
        // SAFETY: 1. and 2. It is a number.
        Ok(unsafe { WorkStream::new(DEVICE, StreamHandle::from_number(1000), Quiet) })
    }

    unsafe fn borrow_stream(_: Device, _: StreamHandle) -> Result<Quiet, Error> {
        Ok(Quiet)
    }
}
