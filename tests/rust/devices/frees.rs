//! Memory is freed after the uses of all consumers, on whichever thread it is dropped.

use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::thread;

use dlpack_tests::foreign::{Farewell, ImportedStorage};
use new_device::Npu;
use new_device::runtime::{self, Event, Stream};
use tensors::backend::{DeviceBuffer, UsedStreams, WorkStream, device_error, sync_for};
use tensors::{DLPackExport, DataType, Error, StreamArg};

use super::npu::{NPU, Session, address, filled, held_by, stream, vector};
use super::variant::{Variant, waited};

/// Reads the first element on a stream, as a consumer's kernel does. `true` if the memory
/// still existed.
fn reads(stream: &Stream) -> bool {
    stream.synchronize().is_ok()
}

#[test]
fn memory_is_freed_after_the_kernels_of_several_consumers() {
    let _session = Session;
    let gates = [(); 3].map(|()| Event::of_host());
    let consumers = gates.each_ref().map(held_by);
    let buffer = filled(stream(), 2.0);
    let results: Vec<_> =
        consumers.iter().map(|stream| stream.stream().allocate(4).unwrap()).collect();
    let address = address(&buffer);
    let tensors: Vec<_> = consumers
        .iter()
        .map(|stream| vector(buffer.clone(), 4).into_dlpack_on(stream.as_arg()).unwrap())
        .collect();
    for (consumer, result) in consumers.iter().zip(results) {
        consumer.stream().sum(address, 0..16, result);
    }
    let ours = buffer.stream().clone();
    drop(buffer);
    // The last owner is dropped on a thread that has never used the device.
    thread::spawn(move || {
        for tensor in tensors {
            ImportedStorage::from(tensor).delete_elsewhere(Farewell::Copy);
        }
    })
    .join()
    .unwrap();
    // The gates open in another order than that of the exports.
    for at in [1, 2, 0] {
        gates[at].set();
        assert!(reads(consumers[at].stream()), "consumer {at} found its memory freed");
    }
    assert_eq!(ours.stream().synchronize(), Ok(()), "freed once");
}

/// The consumer closes its stream right after it enqueued a kernel.
#[test]
fn memory_is_freed_after_the_kernels_of_a_closed_stream() {
    let _session = Session;
    let gate = Event::of_host();
    let consumer = held_by(&gate);
    let buffer = filled(stream(), 2.0);
    let ours = buffer.stream().clone();
    let result = consumer.stream().allocate(4).unwrap();
    let tensor = vector(buffer.clone(), 4).into_dlpack_on(consumer.as_arg()).unwrap();
    consumer.stream().sum(address(&buffer), 0..16, result);
    let done = consumer.stream().record();
    drop(consumer);
    drop((buffer, tensor));
    gate.set();
    // The work of the closed stream is ordered before ours.
    ours.stream().wait(&done);
    assert_eq!(ours.stream().synchronize(), Ok(()));
}

/// A consumer without a stream, and the host, get finished work.
#[test]
fn an_export_without_a_stream_waits_for_the_work() {
    let _session = Session;
    for consumer in [StreamArg::unspecified(), StreamArg::on_host()] {
        let gate = Event::of_host();
        let tensor = vector(filled(held_by(&gate), 2.0), 4);
        let returned = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                // Time for an error to show; correct code does not need it.
                thread::sleep(Duration::from_millis(30));
                assert!(!returned.load(Ordering::SeqCst), "the work had not begun");
                gate.set();
            });
            tensor.tensor().unwrap().sync_for(consumer).unwrap();
            returned.store(true, Ordering::SeqCst);
        });
    }
}

/// Synchronizing with our own stream enqueues nothing.
#[test]
fn a_consumer_on_our_own_stream_enqueues_nothing() {
    let _session = Session;
    let gate = Event::of_host();
    let buffer = filled(held_by(&gate), 2.0);
    let ours = buffer.stream().clone();
    let uses = UsedStreams::<Npu>::new();
    uses.sync_for(&ours, ours.as_arg()).unwrap();
    sync_for(&ours, ours.as_arg()).unwrap();
    assert_eq!(format!("{uses:?} {}", uses.elsewhere()), "[] false");
    gate.set();
}

#[test]
fn a_stream_is_recorded_once() {
    let _session = Session;
    let (ours, theirs) = (stream::<Npu>(), stream::<Npu>());
    let uses = UsedStreams::<Npu>::new();
    for _ in 0..3 {
        uses.sync_for(&ours, theirs.as_arg()).unwrap();
    }
    assert_eq!(format!("{uses:?}"), format!("[{:?}]", theirs.handle()));
    // Without a stream the host waits, and no stream is recorded.
    uses.sync_for(&ours, StreamArg::unspecified()).unwrap();
    uses.sync_for(&ours, StreamArg::on_host()).unwrap();
    assert_eq!(format!("{uses:?}"), format!("[{:?}]", theirs.handle()));
    uses.order_before(&ours).unwrap();
}

/// Many threads export one buffer; the list contains every stream.
#[test]
fn streams_are_recorded_from_many_threads() {
    let _session = Session;
    let (uses, ours) = (UsedStreams::<Npu>::new(), stream::<Npu>());
    let streams: Vec<_> = (0..8).map(|_| stream::<Npu>()).collect();
    thread::scope(|scope| {
        for stream in &streams {
            let (uses, ours) = (&uses, &ours);
            scope.spawn(move || uses.sync_for(ours, stream.as_arg()).unwrap());
        }
    });
    let known = format!("{uses:?}");
    for stream in &streams {
        assert!(known.contains(&format!("{:?}", stream.handle())), "{known}");
    }
}

/// A consumer that requests no synchronization is refused where the producer could not
/// tell when the memory may be freed.
#[test]
fn a_consumer_without_synchronization_is_refused_or_waited_for() {
    let _session = Session;
    let gate = Event::of_host();
    let tensor = vector(filled(held_by(&gate), 1.0), 4);
    let error = tensor.to_dlpack_on(StreamArg::no_sync()).unwrap_err();
    assert_eq!(error, Error::StreamUntracked { device: NPU });
    // The free function records nothing, so it accepts it.
    sync_for(tensor.data.stream(), StreamArg::no_sync()).unwrap();
    gate.set();
    // Where the device can be waited for, it is: at the free, and then only.
    let buffer = DeviceBuffer::<Variant<true, true>>::zeroed(NPU, DataType::F32, 4).unwrap();
    let tensor = vector(buffer, 4).into_dlpack_on(StreamArg::no_sync()).unwrap();
    assert_eq!(waited(), 0);
    drop(tensor);
    assert_eq!(waited(), 1);
}

/// A stream that cannot be kept has no valid handle at the time of the free, unless the
/// consumer promised it.
#[test]
fn a_short_lived_stream_is_waited_for_with_the_device() {
    type Fleeting = Variant<false, true>;
    let _session = Session;
    let consumer = stream::<Fleeting>();
    let buffer = || DeviceBuffer::<Fleeting>::zeroed(NPU, DataType::F32, 4).unwrap();
    drop(vector(buffer(), 4).into_dlpack_on(consumer.as_arg()).unwrap());
    assert_eq!(waited(), 1, "the stream may be gone: all of the device is waited for");
    // SAFETY: 1. The stream lives until the end of this test.
    let lasting = unsafe { consumer.as_arg().lasting() };
    drop(vector(buffer(), 4).into_dlpack_on(lasting).unwrap());
    assert_eq!(waited(), 1, "the stream is there: it is waited for, on the device");
    // Without a way to wait for the device it is an error.
    let buffer = DeviceBuffer::<Variant<false, false>>::zeroed(NPU, DataType::F32, 4).unwrap();
    let consumer = stream::<Variant<false, false>>();
    let error = vector(buffer, 4).into_dlpack_on(consumer.as_arg()).unwrap_err();
    assert_eq!(error, Error::StreamUntracked { device: NPU });
}

/// A handle that names nothing is an error of the device, before anything happens.
#[test]
fn invalid_streams_are_refused() {
    let _session = Session;
    let handle = {
        let gone = stream::<Npu>();
        gone.handle().number()
    };
    let tensor = vector(filled(stream(), 1.0), 4);
    // SAFETY: 1. is violated on purpose. This device looks its handles up.
    let argument = unsafe { StreamArg::from_handle(handle) };
    let error = tensor.to_dlpack_on(argument).unwrap_err();
    assert_eq!(error, device_error(NPU, "find_stream", 2, ""));
    assert_eq!(error.to_string(), "`find_stream` returned 2 for ext_dev:0");
}

/// The current stream of the thread that exports does not matter: the buffer stores its
/// own.
#[test]
fn a_buffer_is_synchronized_on_its_own_stream() {
    let _session = Session;
    let ours = stream::<Npu>();
    let buffer = filled(ours.clone(), 1.0);
    let elsewhere = Stream::new(0).unwrap();
    runtime::with_stream(&elsewhere, || {
        let now = WorkStream::<Npu>::current(NPU).unwrap();
        assert_ne!(now.handle(), buffer.stream().handle());
    });
    assert_eq!(buffer.stream().handle(), ours.handle());
}
