//! Ordering between queues that work at the same time.

use std::ffi::c_void;
use std::sync::PoisonError;

use dlpack_accelerator_tests::sycl::{ALONE, Ref, Sycl, sycl};
use dlpack_traits::backend::{DeviceBuffer, OneApi, StreamHandle, sync_for};
use dlpack_traits::{DataType, Error, StreamArg};

/// Bytes; a copy takes some hundredths of a second.
const MANY: usize = 128 << 20;
const LAST: usize = MANY - 64;

fn named(queue: Ref) -> StreamArg<'static> {
    // SAFETY: 1. A queue of a test, which leaks it.
    unsafe { StreamArg::from_handle(queue.expose_provenance()) }
}

/// Enqueues much work, the end of which are sevens in the buffer.
fn produce(sycl: &Sycl, queue: Ref, buffer: &DeviceBuffer<OneApi>, spare: Ref) {
    sycl.fill(queue, spare, 7, MANY);
    for _ in 0..4 {
        sycl.copy(queue, spare, buffer.as_ptr(), MANY);
        sycl.copy(queue, buffer.as_ptr(), spare, MANY);
    }
}

/// Returns the elements that a consumer reads on its queue, after waiting for the queue.
fn consume(sycl: &Sycl, queue: Ref, buffer: &DeviceBuffer<OneApi>) -> [u8; 64] {
    let mut read = [9; 64];
    let end = buffer.as_ptr().cast::<u8>().wrapping_add(LAST).cast::<c_void>();
    sycl.copy(queue, end, read.as_mut_ptr().cast(), read.len());
    sycl.wait(queue);
    read
}

/// A producer at work, on a queue of that kind, and the queue of a consumer.
fn at_work(
    in_order: bool,
    test: impl FnOnce(&Sycl, &DeviceBuffer<OneApi>, Ref) -> Result<(), Error>,
) -> Result<(), Error> {
    let Some(sycl) = sycl() else { return Ok(()) };
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (producer, consumer) = (sycl.queue(true), sycl.queue(in_order));
    let spare = sycl.malloc_device(producer, MANY);
    let buffer = DeviceBuffer::<OneApi>::zeroed_on(sycl.stream(producer), DataType::U8, MANY)?;
    sycl.wait(producer);
    produce(sycl, producer, &buffer, spare);
    test(sycl, &buffer, consumer)?;
    sycl.wait(producer);
    sycl.free(producer, spare);
    Ok(())
}

#[test]
fn a_named_consumer_queue_waits_for_the_producer() -> Result<(), Error> {
    for in_order in [true, false] {
        at_work(in_order, |sycl, buffer, consumer| {
            buffer.sync_for(named(consumer))?;
            assert_eq!(consume(sycl, consumer, buffer), [7; 64]);
            Ok(())
        })?;
    }
    Ok(())
}

#[test]
fn a_consumer_without_a_queue_gets_finished_work() -> Result<(), Error> {
    at_work(true, |sycl, buffer, consumer| {
        buffer.sync_for(StreamArg::unspecified())?;
        assert_eq!(consume(sycl, consumer, buffer), [7; 64]);
        Ok(())
    })
}

#[test]
fn a_table_consumer_waits_on_the_current_queue() -> Result<(), Error> {
    at_work(false, |sycl, buffer, consumer| {
        let entered = OneApi::enter(sycl.stream(consumer));
        buffer.sync_for(StreamArg::work_stream())?;
        drop(entered);
        assert_eq!(consume(sycl, consumer, buffer), [7; 64]);
        Ok(())
    })
}

#[test]
fn a_host_copy_includes_enqueued_work() -> Result<(), Error> {
    at_work(true, |_, buffer, _| {
        assert!(buffer.to_vec::<u8>()?.iter().all(|byte| *byte == 7));
        Ok(())
    })
}

/// -1 gives the producer no stream, so that it could not tell when the consumer has
/// finished.
#[test]
fn minus_one_is_refused() -> Result<(), Error> {
    let Some(sycl) = sycl() else { return Ok(()) };
    let device = sycl.device();
    let buffer = DeviceBuffer::<OneApi>::zeroed(device, DataType::U8, 1)?;
    let refused = buffer.sync_for(StreamArg::no_sync());
    assert_eq!(refused, Err(Error::StreamUntracked { device }));
    assert_eq!(sync_for(buffer.stream(), StreamArg::no_sync()), Ok(()));
    // SAFETY: 1. No queue has the address 0, which is refused.
    let null = unsafe { StreamArg::from_handle(0) };
    assert!(matches!(buffer.sync_for(null), Err(Error::StreamRefused { .. })));
    Ok(())
}

/// The producer drops the tensor while the consumer's work is pending: the memory stays
/// until that work has finished, although the handle of the queue is already gone. (The
/// free of this runtime also waits by itself, so the test cannot tell which of the two
/// waited.)
#[test]
fn memory_is_freed_after_the_consumers_work() -> Result<(), Error> {
    let Some(sycl) = sycl() else { return Ok(()) };
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (producer, consumer) = (sycl.queue(true), sycl.queue(true));
    let spare = sycl.malloc_device(consumer, MANY);
    let buffer = DeviceBuffer::<OneApi>::zeroed_on(sycl.stream(producer), DataType::U8, MANY)?;
    sycl.fill(producer, buffer.as_ptr(), 3, MANY);
    buffer.sync_for(named(consumer))?;
    let mut read = [9_u8; 64];
    for _ in 0..4 {
        sycl.copy(consumer, buffer.as_ptr(), spare, MANY);
    }
    let end = spare.cast::<u8>().wrapping_add(LAST).cast::<c_void>();
    sycl.copy(consumer, end, read.as_mut_ptr().cast(), read.len());
    let kept = sycl.stream(consumer);
    // SAFETY: the test's own; `kept` and the buffer have references.
    unsafe { (sycl.calls.DPCTLQueue_Delete)(consumer) };
    drop(buffer);
    // The work that the buffer waited for has finished: no wait here.
    assert_eq!(read, [3; 64]);
    kept.synchronize()?;
    sycl.free(producer, spare);
    Ok(())
}

/// One C++ variable to which several queues are assigned in turn: each queue is recorded
/// once. (The test cannot see that each is waited for, because the free of this runtime
/// waits.)
#[test]
fn a_reused_queue_address_is_a_new_queue() -> Result<(), Error> {
    let Some(sycl) = sycl() else { return Ok(()) };
    let buffer = DeviceBuffer::<OneApi>::zeroed(sycl.device(), DataType::U8, 1)?;
    // A `sycl::queue` is a shared pointer: the object and its reference count.
    let mut variable = [0_usize; 2];
    let address = (&raw mut variable).cast::<c_void>();
    for _ in 0..3 {
        let queue = sycl.queue(true).cast::<[usize; 2]>();
        // SAFETY: the test leaks the queue, so that it may be named from here too.
        let object = unsafe { queue.read() };
        // SAFETY: the variable is as large, and of numbers.
        unsafe { address.cast::<[usize; 2]>().write(object) };
        buffer.sync_for(named(address))?;
        buffer.sync_for(named(address))?;
    }
    let uses = format!("{buffer:?}").matches("stream 0x").count();
    // One more is the buffer's own.
    assert_eq!(uses, 3 + 1);
    Ok(())
}

/// Each copy of a queue has its own address but is the same queue.
#[test]
fn copies_of_a_queue_are_recorded_once() -> Result<(), Error> {
    let Some(sycl) = sycl() else { return Ok(()) };
    let buffer = DeviceBuffer::<OneApi>::zeroed(sycl.device(), DataType::U8, 1)?;
    let queue = sycl.queue(true);
    for _ in 0..3 {
        // SAFETY: a queue, of which the test leaks the copy.
        let copy = unsafe { (sycl.calls.DPCTLQueue_Copy)(queue) };
        assert_ne!(copy, queue);
        buffer.sync_for(named(copy))?;
    }
    assert_eq!(format!("{buffer:?}").matches("stream 0x").count(), 1 + 1);
    Ok(())
}

/// Work of a thread that entered a queue is that queue's.
#[test]
fn each_thread_has_its_own_current_queue() -> Result<(), Error> {
    use dlpack_traits::backend::{Backends, WorkStream};
    let Some(sycl) = sycl() else { return Ok(()) };
    let default = OneApi::current_work_stream(sycl.device())?;
    let (outer, inner) = (sycl.stream(sycl.queue(true)), sycl.stream(sycl.queue(false)));
    let names = [outer.handle(), inner.handle()];
    let now = || OneApi::current_work_stream(sycl.device()).map(StreamHandle::from_ptr);
    let first = OneApi::enter(outer);
    assert_eq!(now()?, names[0]);
    let second = OneApi::enter(inner);
    assert_eq!(now()?, names[1]);
    let elsewhere = std::thread::scope(|scope| {
        let other =
            scope.spawn(|| WorkStream::<OneApi>::current(sycl.device()).map(|s| s.handle()));
        other.join().expect("no panic")
    })?;
    assert_eq!(elsewhere, StreamHandle::from_ptr(default));
    drop(first);
    assert_eq!(now()?, names[1], "left in another order");
    let zeroed = DeviceBuffer::<OneApi>::zeroed(sycl.device(), DataType::U32, 4)?;
    assert_eq!(zeroed.stream().handle(), names[1]);
    assert_eq!(zeroed.to_vec::<u32>()?, [0; 4], "also where the queue has no order");
    drop(second);
    assert_eq!(now()?, StreamHandle::from_ptr(default));
    Ok(())
}
