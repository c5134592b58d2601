//! Ordering between queues: a gate delays the producer's work, so that no test depends on
//! how long anything takes.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use dlpack_accelerator_tests::cl::{Cl, Ref, check, devices};
use dlpack_traits::backend::{DeviceBuffer, OpenCl};
use dlpack_traits::{DataType, Error, StreamArg};

const COUNT: usize = 64;

fn named(queue: Ref) -> StreamArg<'static> {
    // SAFETY: 1. A queue of a test, which leaks it.
    unsafe { StreamArg::from_handle(queue.expose_provenance()) }
}

/// Threes, which become sevens when the gate is opened.
fn gated(cl: &Cl, producer: Ref) -> Result<(DeviceBuffer<OpenCl>, Ref), Error> {
    let stream = cl.stream(producer);
    let buffer = DeviceBuffer::<OpenCl>::zeroed_on(stream, DataType::U8, COUNT)?;
    cl.fill(producer, buffer.as_ptr(), 3, COUNT);
    cl.finish(producer);
    let gate = cl.gate(producer);
    cl.fill(producer, buffer.as_ptr(), 7, COUNT);
    Ok((buffer, gate))
}

/// `sync_for` does not wait, and the consumer sees the earlier work.
#[test]
fn a_named_consumer_queue_waits_for_the_producer() -> Result<(), Error> {
    for cl in devices() {
        for in_order in [true, false] {
            let (producer, consumer) = (cl.queue(true), cl.queue(in_order));
            let (buffer, gate) = gated(&cl, producer)?;
            let mut read = [9; COUNT];
            buffer.sync_for(named(consumer))?;
            cl.read(consumer, buffer.as_ptr(), &mut read);
            cl.open(gate);
            cl.finish(consumer);
            assert_eq!(read, [7; COUNT]);
        }
    }
    Ok(())
}

/// A queue that sees to no order, which both use: the consumer's work waits even so.
#[test]
fn a_consumer_on_the_producers_queue_needs_no_wait() -> Result<(), Error> {
    for cl in devices() {
        let queue = cl.queue(false);
        let buffer = DeviceBuffer::<OpenCl>::zeroed_on(cl.stream(queue), DataType::U8, COUNT)?;
        cl.finish(queue);
        let mut seen = [[9; COUNT]; 2];
        for (seen, says) in seen.iter_mut().zip([named(queue), StreamArg::work_stream()]) {
            let entered = OpenCl::enter(cl.stream(queue));
            let gate = cl.fill_after_gate(queue, buffer.as_ptr(), 7, COUNT);
            buffer.sync_for(says)?;
            cl.read(queue, buffer.as_ptr(), seen);
            drop(entered);
            thread::sleep(Duration::from_millis(20));
            cl.open(gate);
            cl.finish(queue);
            cl.fill(queue, buffer.as_ptr(), 0, COUNT);
            cl.finish(queue);
        }
        assert_eq!(seen, [[7; COUNT]; 2]);
    }
    Ok(())
}

/// Without `sync_for` the test above would read stale elements.
#[test]
fn without_a_sync_for_the_elements_are_stale() -> Result<(), Error> {
    for cl in devices() {
        let (producer, consumer) = (cl.queue(true), cl.queue(true));
        let (buffer, gate) = gated(&cl, producer)?;
        let mut read = [9; COUNT];
        cl.read(consumer, buffer.as_ptr(), &mut read);
        cl.finish(consumer);
        cl.open(gate);
        cl.finish(producer);
        assert_eq!(read, [3; COUNT]);
    }
    Ok(())
}

#[test]
fn a_table_consumer_waits_on_the_current_queue() -> Result<(), Error> {
    for cl in devices() {
        let (producer, consumer) = (cl.queue(false), cl.queue(true));
        let (buffer, gate) = gated(&cl, producer)?;
        let mut read = [9; COUNT];
        let entered = OpenCl::enter(cl.stream(consumer));
        buffer.sync_for(StreamArg::work_stream())?;
        drop(entered);
        cl.read(consumer, buffer.as_ptr(), &mut read);
        cl.open(gate);
        cl.finish(consumer);
        assert_eq!(read, [7; COUNT]);
    }
    Ok(())
}

#[test]
fn a_consumer_without_a_queue_gets_finished_work() -> Result<(), Error> {
    for cl in devices() {
        let (producer, consumer) = (cl.queue(true), cl.queue(true));
        let (buffer, gate) = gated(&cl, producer)?;
        let opened = AtomicBool::new(false);
        let mut read = [9; COUNT];
        let gate = gate.expose_provenance();
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(20));
                opened.store(true, Ordering::Release);
                cl.open(std::ptr::with_exposed_provenance_mut(gate));
            });
            buffer.sync_for(StreamArg::unspecified())
        })?;
        assert!(opened.load(Ordering::Acquire), "it did not wait");
        cl.read(consumer, buffer.as_ptr(), &mut read);
        cl.finish(consumer);
        assert_eq!(read, [7; COUNT]);
    }
    Ok(())
}

/// -1, and NULL.
#[test]
fn stream_values_that_are_not_queues_are_refused() -> Result<(), Error> {
    for cl in devices() {
        let device = cl.device;
        let buffer = DeviceBuffer::<OpenCl>::zeroed(device, DataType::U8, 1)?;
        let refused = buffer.sync_for(StreamArg::no_sync());
        assert_eq!(refused, Err(Error::StreamUntracked { device }));
        // SAFETY: 1. No queue has the handle 0, which is refused.
        let null = unsafe { StreamArg::from_handle(0) };
        assert!(matches!(buffer.sync_for(null), Err(Error::StreamRefused { .. })));
    }
    Ok(())
}

/// A queue of another context cannot wait for ours. It is not recorded either, because a
/// recorded queue would keep the buffer alive forever.
#[test]
fn queues_of_other_contexts_are_refused() -> Result<(), Error> {
    for cl in devices() {
        let producer = cl.queue(true);
        let (buffer, gate) = gated(&cl, producer)?;
        cl.open(gate);
        let consumer = cl.queue_in(cl.fresh_context(), true);
        let refused = buffer.sync_for(named(consumer));
        let what = "order among queues of two contexts";
        assert_eq!(refused, Err(Error::Unsupported { device: cl.device, what }));
        let destroyed = watch(&cl, buffer.as_ptr());
        drop(buffer);
        cl.finish(producer);
        assert!(wait_for(destroyed), "the buffer was kept");
    }
    Ok(())
}

/// All references to the buffer and to the consumer's queue are released while the
/// consumer's work is pending: OpenCL keeps both until it has finished.
#[test]
fn memory_is_freed_after_the_consumers_work() -> Result<(), Error> {
    for cl in devices() {
        let (producer, consumer) = (cl.queue(true), cl.queue(true));
        let (buffer, gate) = gated(&cl, producer)?;
        let destroyed = watch(&cl, buffer.as_ptr());
        let mut read = [9; COUNT];
        buffer.sync_for(named(consumer))?;
        assert!(cl.queue_references(consumer) > 1, "the buffer has a reference");
        cl.read(consumer, buffer.as_ptr(), &mut read);
        let kept = cl.stream(consumer);
        // SAFETY: the test's own; `kept` and the buffer have references.
        check(unsafe { (cl.calls.clReleaseCommandQueue)(consumer) });
        drop(buffer);
        assert!(!destroyed.load(Ordering::Acquire), "freed while it was used");
        cl.open(gate);
        kept.synchronize()?;
        assert_eq!(read, [7; COUNT]);
        cl.finish(producer);
        assert!(wait_for(destroyed), "the buffer was leaked");
    }
    Ok(())
}

/// Reports when OpenCL destroys the buffer.
fn watch(cl: &Cl, buffer: Ref) -> &'static AtomicBool {
    unsafe extern "C" fn destroyed(_: Ref, flag: *mut c_void) {
        // SAFETY: the flag lives as long as the process.
        let flag = unsafe { &*flag.cast::<AtomicBool>() };
        flag.store(true, Ordering::Release);
    }
    let flag: &'static AtomicBool = Box::leak(Box::new(AtomicBool::new(false)));
    let argument = std::ptr::from_ref(flag).cast_mut().cast();
    // SAFETY: a buffer, and a function that takes the flag.
    check(unsafe { (cl.calls.clSetMemObjectDestructorCallback)(buffer, destroyed, argument) });
    flag
}

/// Runtimes destroy on threads of their own.
fn wait_for(destroyed: &AtomicBool) -> bool {
    (0..500).any(|_| {
        thread::sleep(Duration::from_millis(2));
        destroyed.load(Ordering::Acquire)
    })
}
