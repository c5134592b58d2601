//! Synchronization of CUDA memory for every way in which a consumer can name its stream:
//! the value is current with `sync_for`, and stale without.

#![cfg(target_os = "linux")]

use dlpack_gpu_tests::gate::Gate;
use dlpack_gpu_tests::session::{Session, check, session};
use dlpack_traits::backend::{Cuda, DeviceBuffer};
use dlpack_traits::{DataType, Device, Error, StreamArg};

const COUNT: usize = 64;
const BEFORE: u32 = 1;
const AFTER: u32 = 2;

/// Memory that a held stream is about to fill.
struct Pending {
    buffer: DeviceBuffer<Cuda>,
    gate: Gate,
}

fn pending(session: &Session, producer: usize) -> Pending {
    let stream = session.work_stream(producer);
    let buffer = DeviceBuffer::zeroed_on(stream, DataType::U32, COUNT).expect("memory");
    session.fill_on(producer, address(&buffer), BEFORE, COUNT);
    session.synchronize(producer);
    let gate = session.hold(producer);
    session.fill_on(producer, address(&buffer), AFTER, COUNT);
    Pending { buffer, gate }
}

fn address(buffer: &DeviceBuffer<Cuda>) -> usize {
    buffer.as_ptr().addr()
}

fn named(stream: usize) -> StreamArg<'static> {
    // SAFETY: a default stream, or one that the test destroys at its end.
    unsafe { StreamArg::from_handle(stream) }
}

/// Returns what a consumer on `stream` reads after `sync_for` with `says`.
fn consumed(session: &Session, says: StreamArg<'_>, stream: usize) -> Result<Vec<u32>, Error> {
    let producer = session.new_stream();
    // Before anything is held: this waits for the legacy default stream.
    let copy = session.filled(0, COUNT);
    let Pending { buffer, gate } = pending(session, producer);
    let handed_off = buffer.sync_for(says);
    // The consumer's copy, enqueued while the producer is held.
    let (to, from) = (copy, address(&buffer));
    if handed_off.is_ok() {
        // SAFETY: both have as many bytes.
        let copied = unsafe { (session.driver.copy_in_order)(to, from, COUNT * 4, stream) };
        assert_eq!(copied, 0);
    }
    if says.kind() == dlpack_traits::StreamKind::NoSync {
        session.synchronize(stream);
    }
    gate.open();
    session.synchronize(stream);
    let read = session.read_on(stream, copy, COUNT);
    session.free(copy);
    drop(buffer);
    session.destroy_stream(producer);
    handed_off.map(|()| read)
}

#[test]
fn a_consumer_without_a_stream_works_on_the_legacy_stream() {
    let Some(session) = session() else { return };
    let read = consumed(&session, StreamArg::unspecified(), 0);
    assert_eq!(read, Ok(vec![AFTER; COUNT]));
}

#[test]
fn the_legacy_and_the_per_thread_stream_have_numbers() {
    let Some(session) = session() else { return };
    for stream in [1, 2] {
        let read = consumed(&session, named(stream), stream);
        assert_eq!(read, Ok(vec![AFTER; COUNT]), "{stream}");
    }
}

#[test]
fn other_numbers_are_stream_handles() {
    let Some(session) = session() else { return };
    let consumer = session.new_stream();
    let read = consumed(&session, named(consumer), consumer);
    assert_eq!(read, Ok(vec![AFTER; COUNT]));
    session.destroy_stream(consumer);
}

/// The error that occurs without `sync_for`. Only the simulator guarantees it.
#[test]
fn without_a_sync_for_the_value_is_stale() {
    let Some(session) = session() else { return };
    let consumer = session.new_stream();
    let read = consumed(&session, StreamArg::no_sync(), consumer).expect("no refusal");
    if session.simulator.is_some() {
        assert_eq!(read, [BEFORE; COUNT]);
    }
    session.destroy_stream(consumer);
}

#[test]
fn zero_is_refused_on_cuda() {
    let Some(session) = session() else { return };
    let refused = consumed(&session, named(0), 0).unwrap_err();
    let device = Device::cuda(0);
    assert!(
        matches!(refused, Error::StreamRefused { device: d, stream: Some(0), .. } if d == device)
    );
}

/// `sync_for` with the producer's own stream calls nothing.
#[test]
fn the_same_stream_needs_no_event() {
    let Some(session) = session() else { return };
    let producer = session.new_stream();
    let Pending { buffer, gate } = pending(&session, producer);
    let before = session.simulator.map(|simulator| simulator.calls("cuEventRecord"));
    assert_eq!(buffer.sync_for(named(producer)), Ok(()));
    assert_eq!(session.simulator.map(|simulator| simulator.calls("cuEventRecord")), before);
    gate.open();
    assert_eq!(session.read_on(producer, address(&buffer), COUNT), [AFTER; COUNT]);
    drop(buffer);
    session.destroy_stream(producer);
}

/// The host waits for pending work only where it is the consumer.
#[test]
fn a_sync_for_waits_on_the_device() {
    let Some(session) = session() else { return };
    let (producer, consumer) = (session.new_stream(), session.new_stream());
    let Pending { buffer, gate } = pending(&session, producer);
    assert_eq!(buffer.sync_for(named(consumer)), Ok(()));
    // SAFETY: a stream of the test.
    let query = unsafe { (session.driver.stream_query)(consumer) };
    assert_eq!(query, 600, "the consumer waits for the producer");
    gate.open();
    assert_eq!(buffer.to_vec::<u32>(), Ok(vec![AFTER; COUNT]));
    drop(buffer);
    session.destroy_stream(consumer);
    session.destroy_stream(producer);
}

#[test]
fn a_destroyed_stream_is_an_error_on_the_simulator() {
    let Some(session) = session() else { return };
    if session.only_simulated().is_none() {
        return;
    }
    let consumer = session.new_stream();
    session.destroy_stream(consumer);
    let refused = consumed(&session, named(consumer), 0).unwrap_err();
    assert!(
        matches!(refused, Error::Device { call: "cuStreamGetCtx", code: 400, .. }),
        "{refused}"
    );
}

/// A stream of another GPU is of another context, as is one of a context that a program created.
#[test]
fn a_stream_of_another_context_is_refused() {
    let Some(session) = session() else { return };
    let other = session.other_context();
    // SAFETY: it lives until the end of the test.
    check(unsafe { (session.driver.context_set)(other.context()) });
    let stream = session.new_stream();
    // SAFETY: the session keeps it alive.
    check(unsafe { (session.driver.context_set)(session.context()) });
    let refused = consumed(&session, named(stream), 0).unwrap_err();
    let (device, what) = (Device::cuda(0), "stream of another device or context");
    assert_eq!(refused, Error::Unsupported { device, what });
    // SAFETY: as above.
    check(unsafe { (session.driver.context_set)(other.context()) });
    session.destroy_stream(stream);
    // SAFETY: as above.
    check(unsafe { (session.driver.context_set)(session.context()) });
}
