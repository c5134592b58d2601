//! CUDA graphs: what `sync_for` does while a stream is captured, and which captures the
//! backend does not disturb.

#![cfg(target_os = "linux")]

use core::ffi::c_void;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

use dlpack_gpu_tests::session::{Session, check, session};
use dlpack_traits::backend::{
    Cuda, DeviceBuffer, FreeOrder, MemoryRange, StreamHandle, WorkStream,
};
use dlpack_traits::{DataType, Device, Error, StreamArg};

/// `CU_STREAM_CAPTURE_MODE_GLOBAL`: the one that forbids most.
const GLOBAL: u32 = 0;
const COUNT: usize = 16;

fn begin(session: &Session, stream: usize) {
    // SAFETY: a stream of the test, and a documented mode.
    check(unsafe { (session.driver.begin_capture)(stream, GLOBAL) });
}

/// Ends a capture, launches the graph, and waits for it.
fn end_and_launch(session: &Session, stream: usize) {
    let driver = session.driver;
    let (mut graph, mut executable) = (0, 0);
    // SAFETY: the answer has a place.
    check(unsafe { (driver.end_capture)(stream, &raw mut graph) });
    // SAFETY: as above.
    check(unsafe { (driver.graph_instantiate)(&raw mut executable, graph, 0) });
    // SAFETY: a graph that can be launched, and a stream of the test.
    check(unsafe { (driver.graph_launch)(executable, stream) });
    session.synchronize(stream);
    // SAFETY: it is not used any more.
    check(unsafe { (driver.executable_destroy)(executable) });
    // SAFETY: as above.
    check(unsafe { (driver.graph_destroy)(graph) });
}

fn named(stream: usize) -> StreamArg<'static> {
    // SAFETY: tests destroy their streams at their ends.
    unsafe { StreamArg::from_handle(stream) }
}

fn buffer_on(session: &Session, stream: usize) -> DeviceBuffer<Cuda> {
    let work_stream = session.work_stream(stream);
    let buffer = DeviceBuffer::zeroed_on(work_stream, DataType::U32, COUNT).expect("memory");
    session.synchronize(stream);
    buffer
}

fn address(buffer: &DeviceBuffer<Cuda>) -> usize {
    buffer.as_ptr().addr()
}

/// Makes a stream part of another one's capture again, or ends its part.
fn join(session: &Session, first: usize, then: usize) {
    let driver = session.driver;
    let mut event = 0;
    // SAFETY: the answer has a place.
    check(unsafe { (driver.event_create)(&raw mut event, 2) });
    // SAFETY: an event and streams of the test.
    check(unsafe { (driver.event_record)(event, first) });
    // SAFETY: as above.
    check(unsafe { (driver.stream_wait)(then, event, 0) });
    // SAFETY: it is not used any more.
    check(unsafe { (driver.event_destroy)(event) });
}

/// The host would have to wait for a graph, which would invalidate the capture: an error,
/// and the capture continues.
#[test]
fn the_host_does_not_wait_for_a_captured_stream() -> Result<(), Error> {
    let Some(session) = session() else { return Ok(()) };
    let device = Device::CUDA_HOST;
    let stream = session.new_stream();
    let handle = StreamHandle::from_number(stream);
    // SAFETY: 1. It is destroyed at the end.
    let work_stream = unsafe { WorkStream::borrow(device, handle) }?;
    let buffer = DeviceBuffer::<Cuda>::zeroed_on(work_stream, DataType::U32, COUNT)?;
    session.synchronize(stream);
    begin(&session, stream);
    let refused = buffer.sync_for(StreamArg::unspecified());
    let what = "wait of the host for a stream that is captured";
    assert_eq!(refused, Err(Error::Unsupported { device, what }));
    session.fill_on(stream, address(&buffer), 3, COUNT);
    end_and_launch(&session, stream);
    assert_eq!(buffer.to_vec::<u32>()?, [3; COUNT]);
    drop(buffer);
    session.destroy_stream(stream);
    Ok(())
}

/// The producer is captured: the consumer's stream becomes part of the capture,
/// and the graph has both in their order.
#[test]
fn sync_for_is_recorded_in_the_graph() -> Result<(), Error> {
    let Some(session) = session() else { return Ok(()) };
    let (producer, consumer) = (session.new_stream(), session.new_stream());
    let buffer = buffer_on(&session, producer);
    let copy = session.filled(0, COUNT);
    begin(&session, producer);
    session.fill_on(producer, address(&buffer), 3, COUNT);
    buffer.sync_for(named(consumer))?;
    // SAFETY: both have as many bytes.
    check(unsafe { (session.driver.copy_in_order)(copy, address(&buffer), COUNT * 4, consumer) });
    join(&session, consumer, producer);
    end_and_launch(&session, producer);
    assert_eq!(session.read_on(producer, copy, COUNT), [3; COUNT]);
    drop(buffer);
    session.free(copy);
    session.destroy_stream(consumer);
    session.destroy_stream(producer);
    Ok(())
}

/// Work on the producer's own stream, as after `current_work_stream`, needs nothing.
#[test]
fn a_captured_stream_shared_by_both_sides_gets_no_event() -> Result<(), Error> {
    let Some(session) = session() else { return Ok(()) };
    let stream = session.new_stream();
    let buffer = buffer_on(&session, stream);
    begin(&session, stream);
    session.fill_on(stream, address(&buffer), 4, COUNT);
    buffer.sync_for(named(stream))?;
    end_and_launch(&session, stream);
    assert_eq!(session.read_on(stream, address(&buffer), COUNT), [4; COUNT]);
    drop(buffer);
    session.destroy_stream(stream);
    Ok(())
}

/// A graph cannot express that a captured consumer waits for work outside of the capture:
/// the driver returns an error.
#[test]
fn waiting_for_work_outside_the_capture_is_an_error() {
    let Some(session) = session() else { return };
    let (producer, consumer) = (session.new_stream(), session.new_stream());
    let buffer = buffer_on(&session, producer);
    begin(&session, consumer);
    let refused = buffer.sync_for(named(consumer)).unwrap_err();
    assert!(
        matches!(refused, Error::Device { call: "cuStreamWaitEvent", code: 905, .. }),
        "{refused}"
    );
    let mut graph = 0;
    // SAFETY: the answer has a place.
    let ended = unsafe { (session.driver.end_capture)(consumer, &raw mut graph) };
    assert_eq!(ended, 901, "the driver has spoilt the capture");
    drop(buffer);
    session.destroy_stream(consumer);
    session.destroy_stream(producer);
}

/// Another thread captures in the mode that forbids most calls of every thread.
/// Allocating, copying and freeing continue here, and the capture is unchanged.
#[test]
fn captures_of_other_threads_are_not_disturbed() {
    let Some(session) = session() else { return };
    let (captured, ours) = (session.new_stream(), session.new_stream());
    let target = session.filled(0, COUNT);
    let (begun, begins) = mpsc::channel();
    let (done, ends) = mpsc::channel::<()>();
    let (driver, context) = (session.driver, session.context());
    thread::scope(|scope| {
        let capturing = scope.spawn(move || {
            // SAFETY: retained by the session.
            check(unsafe { (driver.context_set)(context) });
            // SAFETY: a stream of the test, and a documented mode.
            check(unsafe { (driver.begin_capture)(captured, GLOBAL) });
            // SAFETY: memory and stream of the test.
            check(unsafe { (driver.fill_in_order)(target, 8, COUNT, captured) });
            begun.send(()).expect("a receiver");
            ends.recv().expect("a sender");
            let mut graph = 0;
            // SAFETY: the answer has a place.
            let ended = unsafe { (driver.end_capture)(captured, &raw mut graph) };
            // SAFETY: it is not used any more, or NULL, which is refused.
            unsafe { (driver.graph_destroy)(graph) };
            ended
        });
        begins.recv().expect("a sender");
        let buffer = buffer_relaxed(&session, ours);
        let read = buffer.to_vec::<u32>();
        drop(buffer);
        done.send(()).expect("a receiver");
        assert_eq!(read, Ok(vec![0; COUNT]));
        assert_eq!(capturing.join().expect("no panic"), 0, "the capture was spoilt");
    });
    session.free(target);
    session.destroy_stream(ours);
    session.destroy_stream(captured);
}

/// Allocates without a call of the test's own, which captures of other threads forbid.
fn buffer_relaxed(session: &Session, stream: usize) -> DeviceBuffer<Cuda> {
    let work_stream = session.work_stream(stream);
    DeviceBuffer::zeroed_on(work_stream, DataType::U32, COUNT).expect("memory")
}

/// The consumer promised that its stream lasts, and captures it when the tensor is
/// dropped: the free cannot be ordered after the graph, so the memory is kept, and the
/// capture is unchanged.
#[test]
fn a_captured_consumer_keeps_the_memory() -> Result<(), Error> {
    let Some(session) = session() else { return Ok(()) };
    let (producer, consumer) = (session.new_stream(), session.new_stream());
    let buffer = buffer_on(&session, producer);
    let kept = address(&buffer);
    // SAFETY: destroyed after the tensor.
    buffer.sync_for(unsafe { named(consumer).lasting() })?;
    begin(&session, consumer);
    session.fill_on(consumer, kept, 5, COUNT);
    drop(buffer);
    let mut status = 9;
    // SAFETY: the answer has a place.
    check(unsafe { (session.driver.is_capturing)(producer, &raw mut status) });
    assert_eq!(status, 0, "the producer became a part of the consumer's graph");
    end_and_launch(&session, consumer);
    assert_eq!(session.read_on(consumer, kept, COUNT), [5; COUNT]);
    // SAFETY: it was kept on purpose and is not used again.
    check(unsafe { (session.driver.free_in_order)(kept, producer) });
    session.destroy_stream(consumer);
    session.destroy_stream(producer);
    Ok(())
}

/// A graph uses its memory at each launch, so a capture neither allocates nor frees: new
/// memory is refused, and dropped memory is kept.
#[test]
fn memory_is_not_allocated_or_freed_in_a_capture() {
    let Some(session) = session() else { return };
    let stream = session.new_stream();
    let buffer = buffer_on(&session, stream);
    let kept = address(&buffer);
    begin(&session, stream);
    let work_stream = session.work_stream(stream);
    let refused = DeviceBuffer::zeroed_on(work_stream, DataType::U32, COUNT).map(drop);
    assert!(matches!(refused, Err(Error::Unsupported { .. })), "{refused:?}");
    session.fill_on(stream, kept, 6, COUNT);
    drop(buffer);
    end_and_launch(&session, stream);
    assert_eq!(session.read_on(stream, kept, COUNT), [6; COUNT]);
    // SAFETY: it was kept on purpose and is not used again.
    check(unsafe { (session.driver.free_in_order)(kept, stream) });
    session.destroy_stream(stream);
}

/// The producer's own stream is captured when the tensor is dropped, and a consumer
/// used it on another: a graph cannot wait for that, so the free is left, and with it
/// the wait that would spoil the capture.
#[test]
fn a_captured_producer_keeps_the_memory() -> Result<(), Error> {
    let Some(session) = session() else { return Ok(()) };
    let (producer, consumer) = (session.new_stream(), session.new_stream());
    let buffer = buffer_on(&session, producer);
    let kept = address(&buffer);
    // SAFETY: destroyed after the tensor.
    buffer.sync_for(unsafe { named(consumer).lasting() })?;
    begin(&session, producer);
    session.fill_on(producer, kept, 6, COUNT);
    drop(buffer);
    end_and_launch(&session, producer);
    assert_eq!(session.read_on(producer, kept, COUNT), [6; COUNT]);
    // SAFETY: it was kept on purpose and is not used again.
    check(unsafe { (session.driver.free_in_order)(kept, producer) });
    session.destroy_stream(consumer);
    session.destroy_stream(producer);
    Ok(())
}

/// The same with a consumer that named no stream: the host does not wait for the device,
/// because the captured stream is part of it.
#[test]
fn a_captured_producer_does_not_wait_for_the_device() -> Result<(), Error> {
    let Some(session) = session() else { return Ok(()) };
    let producer = session.new_stream();
    let buffer = buffer_on(&session, producer);
    let kept = address(&buffer);
    buffer.sync_for(StreamArg::no_sync())?;
    begin(&session, producer);
    session.fill_on(producer, kept, 7, COUNT);
    drop(buffer);
    end_and_launch(&session, producer);
    assert_eq!(session.read_on(producer, kept, COUNT), [7; COUNT]);
    // SAFETY: it was kept on purpose and is not used again.
    check(unsafe { (session.driver.free_in_order)(kept, producer) });
    session.destroy_stream(producer);
    Ok(())
}

/// Adopted memory is kept too: the host cannot wait for a captured stream, and the
/// owner's free would be recorded into the graph.
#[test]
fn adopted_memory_of_a_captured_stream_is_kept() {
    /// Says that it was dropped.
    struct Dropped(Arc<AtomicBool>);

    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Release);
        }
    }

    let Some(session) = session() else { return };
    for freed in [FreeOrder::Immediate, FreeOrder::StreamOrdered] {
        let producer = session.new_stream();
        let kept = session.filled(0, COUNT);
        let dropped = Arc::new(AtomicBool::new(false));
        let data = NonNull::new(kept as *mut c_void).expect("memory");
        let memory = MemoryRange::new(data, COUNT * 4);
        let (stream, owner) = (session.work_stream(producer), Dropped(Arc::clone(&dropped)));
        // SAFETY: 1. to 3. The test frees it, at the end. 4. The work is done. 5. Later.
        let buffer =
            unsafe { DeviceBuffer::from_raw_parts(memory, DataType::U32, stream, owner, freed) };
        begin(&session, producer);
        session.fill_on(producer, kept, 8, COUNT);
        drop(buffer);
        assert!(!dropped.load(Ordering::Acquire), "{freed:?}");
        end_and_launch(&session, producer);
        assert_eq!(session.read_on(producer, kept, COUNT), [8; COUNT]);
        session.free(kept);
        session.destroy_stream(producer);
    }
}
