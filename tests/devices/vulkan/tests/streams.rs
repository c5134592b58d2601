//! Queues as streams: order without a wait of the host, and frees after uses.
//!
//! Nothing here depends on how long anything takes: gates hold queues back.

#![expect(clippy::std_instead_of_core, reason = "tests for machines that have std")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use dlpack_traits::backend::{DeviceBuffer, Stream, StreamHandle, Vulkan, WorkStream};
use dlpack_traits::{DLPackExport, DataType, Device, Error, ImportedTensor, StreamArg};
use dlpack_vulkan_tests::program::{Program, program};
use dlpack_vulkan_tests::watched;

#[derive(DLPackExport)]
struct Numbers {
    data: DeviceBuffer<Vulkan>,
    shape: [usize; 1],
}

/// Zeros, of which the second number will be 7, and a gate before that.
fn pending(program: &Program) -> (Numbers, dlpack_vulkan_tests::program::Gate) {
    let data = DeviceBuffer::zeroed(program.device, DataType::U32, 4).expect("memory");
    program.finish(0);
    let gate = program.hold(0);
    program.fill(0, handle(&data), 4, 7, 1);
    (Numbers { data, shape: [4] }, gate)
}

fn handle(data: &DeviceBuffer<Vulkan>) -> u64 {
    data.as_ptr().addr() as u64
}

fn import(tensor: dlpack_traits::ManagedTensor) -> ImportedTensor {
    // SAFETY: 1. It was just exported.
    unsafe { ImportedTensor::from_raw(tensor.into_raw()) }.expect("a tensor")
}

#[test]
fn sync_for_orders_queues_without_a_host_wait() -> Result<(), Error> {
    let Some(program) = program() else { return Ok(()) };
    let (numbers, gate) = pending(&program);
    // The gate is closed, so this would not return if the host waited.
    let tensor = import(numbers.into_dlpack_on(program.consumer(1))?);
    let seen = program.seen();
    program.look(1, tensor.data_ptr().addr() as u64, tensor.byte_offset() + 4, &seen);
    thread::sleep(Duration::from_millis(20));
    assert_eq!(program.peek(&seen), u32::MAX, "the consumer did not wait");
    gate.open();
    program.finish(1);
    assert_eq!(program.take(seen), 7);
    Ok(())
}

#[test]
fn without_a_sync_for_the_value_is_stale() -> Result<(), Error> {
    let Some(program) = program() else { return Ok(()) };
    let (numbers, gate) = pending(&program);
    let tensor = import(numbers.into_dlpack_on(StreamArg::no_sync())?);
    let seen = program.seen();
    program.look(1, tensor.data_ptr().addr() as u64, 4, &seen);
    program.finish(1);
    assert_eq!(program.take(seen), 0, "the earlier value");
    gate.open();
    Ok(())
}

#[test]
fn a_consumer_without_a_queue_gets_finished_work() -> Result<(), Error> {
    let Some(program) = program() else { return Ok(()) };
    let (numbers, gate) = pending(&program);
    let opened = AtomicBool::new(false);
    thread::scope(|scope| {
        let exported = scope.spawn(|| {
            let tensor = numbers.to_dlpack_on(StreamArg::unspecified());
            assert!(opened.load(Ordering::SeqCst), "it did not wait");
            tensor
        });
        thread::sleep(Duration::from_millis(20));
        opened.store(true, Ordering::SeqCst);
        gate.open();
        let tensor = exported.join().expect("no panic")?;
        let seen = program.seen();
        // Nothing orders the other queue but that the work is done.
        program.look(1, import(tensor).data_ptr().addr() as u64, 4, &seen);
        program.finish(1);
        assert_eq!(program.take(seen), 7);
        Ok(())
    })
}

#[test]
fn a_consumer_on_the_producers_queue_needs_no_wait() -> Result<(), Error> {
    let Some(program) = program() else { return Ok(()) };
    let (numbers, _gate) = pending(&program);
    let before = watched::submitted();
    let tensor = numbers.to_dlpack_on(program.consumer(0))?;
    let tensors = [tensor, numbers.to_dlpack_on(StreamArg::work_stream())?];
    assert_eq!(watched::submitted(), before);
    drop(tensors);
    Ok(())
}

/// A thread that holds a queue may drop a tensor, make one, and lock the queue again.
#[test]
fn a_thread_that_holds_a_queue_may_submit_again() -> Result<(), Error> {
    let Some(program) = program() else { return Ok(()) };
    let (device, queue) = (program.device, program.queue(0));
    let buffer = DeviceBuffer::<Vulkan>::from_slice(device, &[1_u32, 2])?;
    let numbers = Vulkan::with_queue(device, queue.handle(), |_| {
        drop(buffer);
        Vulkan::with_queue(device, queue.handle(), |_| {
            DeviceBuffer::<Vulkan>::from_slice(device, &[3_u32, 4])?.to_vec::<u32>()
        })?
    })??;
    assert_eq!(numbers, [3, 4]);
    Ok(())
}

#[test]
fn a_consumer_of_the_table_works_on_the_current_queue() -> Result<(), Error> {
    let Some(program) = program() else { return Ok(()) };
    let data = DeviceBuffer::<Vulkan>::zeroed_on(program.queue(1), DataType::U32, 4)?;
    let gate = program.hold(1);
    program.fill(1, handle(&data), 0, 9, 4);
    let tensor = import(Numbers { data, shape: [4] }.into_dlpack_on(StreamArg::work_stream())?);
    let seen = program.seen();
    program.look(0, tensor.data_ptr().addr() as u64, 0, &seen);
    gate.open();
    program.finish(0);
    assert_eq!(program.take(seen), 9);
    Ok(())
}

#[test]
fn numbers_that_are_not_queues_are_refused() -> Result<(), Error> {
    let Some(program) = program() else { return Ok(()) };
    let data = DeviceBuffer::zeroed(program.device, DataType::U32, 4)?;
    let numbers = Numbers { data, shape: [4] };
    // SAFETY: 1. Refused before anything is done with it: handles are compared.
    let zero = numbers.to_dlpack_on(unsafe { StreamArg::from_handle(0) }).map(drop);
    assert!(matches!(zero, Err(Error::StreamRefused { stream: Some(0), .. })), "{zero:?}");
    // SAFETY: 1. As above.
    let unknown = numbers.to_dlpack_on(unsafe { StreamArg::from_handle(12345) }).map(drop);
    let (device, what) = (program.device, "queue that was not adopted");
    assert_eq!(unknown, Err(Error::Unsupported { device, what }));
    let asked = Vulkan::with_queue(device, StreamHandle::from_number(12345), drop);
    assert_eq!(asked, Err(Error::Unsupported { device, what }));
    Ok(())
}

#[test]
fn memory_is_destroyed_after_the_consumers_queue() -> Result<(), Error> {
    let Some(program) = program() else { return Ok(()) };
    let (numbers, first) = pending(&program);
    first.open();
    let tensor = import(numbers.into_dlpack_on(program.consumer(1))?);
    let gate = program.hold(1);
    let seen = program.seen();
    program.look(1, tensor.data_ptr().addr() as u64, 4, &seen);
    let before = watched::exist();
    // The last owner, while the consumer's work is still held back. It returns.
    thread::spawn(move || drop(tensor)).join().expect("no panic");
    assert!(watched::exist() >= before - 1, "memory in use was destroyed");
    // The producer's queue waits for the consumer's: that is the order of the free.
    gate.open();
    program.finish(0);
    program.finish(1);
    assert!(watched::exist() <= before - 2, "the memory is still there");
    assert_eq!(program.take(seen), 7);
    Ok(())
}

#[test]
fn memory_is_destroyed_after_unnamed_consumers() -> Result<(), Error> {
    let Some(program) = program() else { return Ok(()) };
    let (numbers, first) = pending(&program);
    first.open();
    program.finish(0);
    let tensor = import(numbers.into_dlpack_on(StreamArg::no_sync())?);
    let gate = program.hold(1);
    let seen = program.seen();
    program.look(1, tensor.data_ptr().addr() as u64, 4, &seen);
    let before = watched::exist();
    drop(tensor);
    program.finish(0);
    assert!(watched::exist() >= before - 1, "memory in use was destroyed");
    gate.open();
    program.finish(1);
    program.finish(0);
    assert!(watched::exist() <= before - 2, "the memory is still there");
    assert_eq!(program.take(seen), 7);
    Ok(())
}

#[test]
fn threads_share_queues() -> Result<(), Error> {
    let Some(program) = program() else { return Ok(()) };
    thread::scope(|scope| {
        let (program, threads) = (&program, 0_u32..4);
        let threads: Vec<_> = threads
            .map(|value| {
                scope.spawn(move || {
                    for _ in 0..10 {
                        let data = DeviceBuffer::from_slice(program.device, &[value; 100])?;
                        let copy = data.clone();
                        let tensor = import(
                            Numbers { data, shape: [100] }.into_dlpack_on(program.consumer(1))?,
                        );
                        drop(tensor);
                        assert_eq!(copy.to_vec::<u32>()?, [value; 100]);
                    }
                    Ok::<(), Error>(())
                })
            })
            .collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
    })
}

#[test]
fn a_queue_that_refuses_submissions_is_waited_for() {
    let Some(program) = program() else { return };
    watched::fail_after(1);
    let waited = program.queue(0).stream().synchronize();
    assert!(matches!(waited, Err(Error::Device { call: "vkQueueSubmit", .. })), "{waited:?}");
}

#[test]
fn queues_of_two_devices_have_no_order() -> Result<(), Error> {
    let Some(program) = program() else { return Ok(()) };
    let other: Device = Vulkan::open(0)?;
    assert_eq!(Vulkan::open(0), Ok(other), "each is opened once");
    assert_ne!(other, program.device);
    let buffer = DeviceBuffer::<Vulkan>::from_slice(other, &[1_u8, 2])?;
    assert_eq!(buffer.to_vec::<u8>()?, [1, 2]);
    let event = WorkStream::<Vulkan>::current(other)?.stream().record()?;
    let (device, what) = (program.device, "way to wait for another VkDevice");
    assert_eq!(program.queue(0).stream().wait(&event), Err(Error::Unsupported { device, what }));
    Ok(())
}
