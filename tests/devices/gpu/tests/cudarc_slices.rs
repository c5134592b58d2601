//! Slices of `cudarc` as tensors.

#![cfg(target_os = "linux")]
#![expect(clippy::std_instead_of_core, reason = "tests for machines that have std")]

use std::any::Any;
use std::error::Error as AnyError;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream};
use dlpack_gpu_tests::session::{check, session};
use dlpack_traits::backend::{
    Cpu, Cuda, DeviceBuffer, DeviceTensor, FreeOrder, StreamHandle, WorkStream, copy_to_host,
};
use dlpack_traits::{DLPackExport, DataType, Device, Error, Storage, StreamArg, Synchronize};

type Outcome = Result<(), Box<dyn AnyError>>;

#[derive(DLPackExport)]
struct Owned {
    data: DeviceBuffer<Cuda>,
    shape: [usize; 2],
}

/// The slice as it is: for consumers on its own stream.
#[derive(DLPackExport)]
struct Plain {
    data: CudaSlice<f32>,
    shape: [usize; 2],
}

#[derive(DLPackExport)]
struct Words {
    data: CudaSlice<u32>,
    shape: [usize; 1],
}

fn named(stream: usize) -> StreamArg<'static> {
    // SAFETY: tests keep their streams to their ends.
    unsafe { StreamArg::from_handle(stream) }
}

#[test]
fn a_slice_is_adopted_without_a_copy() -> Outcome {
    let Some(_session) = session() else { return Ok(()) };
    let stream = CudaContext::new(0)?.new_stream()?;
    let data = DeviceBuffer::try_from(stream.clone_htod(&[1.0_f32, 2.0, 3.0, 4.0])?)?;
    let tensor = Owned { data, shape: [2, 2] };
    let copy = copy_to_host::<(Cpu, Cuda), _>(&tensor)?;
    assert_eq!(copy.dtype(), DataType::F32);
    let exported = tensor.into_dlpack()?;
    assert_eq!((exported.device(), exported.shape()), (Device::cuda(0), &[2, 2][..]));
    drop(stream);
    // The stream's last owner, and its context's, on a thread without either.
    thread::spawn(move || drop(exported)).join().expect("no panic");
    // On a default stream cudarc itself would free on a thread without a context.
    let slice = CudaContext::new(0)?.default_stream().clone_htod(&[1_u8])?;
    let data = DeviceBuffer::<Cuda>::try_from(slice)?;
    thread::spawn(move || drop(data)).join().expect("no panic");
    Ok(())
}

/// cudarc makes the context of a stream current when it drops or uses one. A thread of
/// another library, which works in another context, keeps its own.
#[test]
fn the_current_context_of_a_thread_is_restored() -> Outcome {
    let Some(session) = session() else { return Ok(()) };
    let (driver, other) = (session.driver, session.other_context());
    let owned = || -> Result<_, Box<dyn AnyError>> {
        let stream = CudaContext::new(0)?.new_stream()?;
        Ok(stream.clone_htod(&[1.0_f32; 4])?)
    };
    for current in [0, other.context()] {
        let (taken, lent, to_take) = (owned()?, owned()?, owned()?);
        let taken = DeviceBuffer::<Cuda>::try_from(taken)?;
        let stream = lent.stream().cu_stream().addr();
        let done = thread::spawn(move || {
            let on_this_thread = |what| {
                let mut found = 1;
                // SAFETY: the answer has a place.
                check(unsafe { (driver.context_get)(&raw mut found) });
                assert_eq!(found, current, "{what}");
            };
            // SAFETY: NULL, or the context that lives until the end of the test.
            check(unsafe { (driver.context_set)(current) });
            drop(taken);
            on_this_thread("the last owner of a slice and of its stream is dropped");
            assert_eq!(lent.data().device(), Device::cuda(0));
            on_this_thread("a slice is borrowed");
            assert_eq!(lent.sync_for(named(stream)), Ok(()));
            on_this_thread("a slice is handed off");
            let taken = DeviceBuffer::<Cuda>::try_from(to_take);
            on_this_thread("a slice is taken over");
            drop(taken);
            // Errors of objects that cudarc drops are cudarc's to report.
            drop(lent);
        });
        done.join().expect("no panic");
    }
    Ok(())
}

/// cudarc records an error in the context where a destructor has nowhere to return it. One
/// that the program has not read yet is neither an export's nor lost.
#[test]
fn errors_of_other_calls_stay_in_the_context() -> Outcome {
    let Some(session) = session() else { return Ok(()) };
    let Some(simulator) = session.only_simulated() else { return Ok(()) };
    let context = CudaContext::new(0)?;
    let stream = context.new_stream()?;
    let slice = stream.clone_htod(&[1.0_f32; 4])?;
    let event = context.new_event(None)?;
    simulator.fail(Some("cuEventDestroy_v2"), 0, 700);
    drop(event);
    assert!(simulator.fail_none());
    assert_eq!(slice.sync_for(named(stream.cu_stream().addr())), Ok(()));
    let taken = DeviceBuffer::<Cuda>::try_from(slice)?;
    assert!(context.check_err().is_err(), "the program's error was lost");
    drop(taken);
    Ok(())
}

/// The consumer reads late and drops its tensor early.
#[test]
fn a_slice_is_freed_after_its_consumers() -> Outcome {
    let Some(session) = session() else { return Ok(()) };
    let stream = CudaContext::new(0)?.new_stream()?;
    let consumer = session.new_stream();
    let copy = session.filled(0, 16);
    let data = DeviceBuffer::<Cuda>::try_from(stream.clone_htod(&[7_u32; 16])?)?;
    data.sync_for(named(consumer))?;
    let gate = session.hold(consumer);
    let from = data.as_ptr().addr();
    // SAFETY: both have as many bytes.
    check(unsafe { (session.driver.copy_in_order)(copy, from, 64, consumer) });
    let opener = thread::spawn(move || {
        thread::sleep(Duration::from_millis(20));
        gate.open();
    });
    drop(data);
    assert_eq!(session.read_on(consumer, copy, 16), [7; 16]);
    opener.join().expect("no panic");
    session.free(copy);
    session.destroy_stream(consumer);
    Ok(())
}

/// `sync_for` also waits for what `cudarc` writes on another stream.
#[test]
fn writes_on_other_streams_are_waited_for() -> Outcome {
    let Some(session) = session() else { return Ok(()) };
    let context = CudaContext::new(0)?;
    let (own, other) = (context.new_stream()?, context.new_stream()?);
    let mut slice = own.clone_htod(&[1_u32; 16])?;
    own.synchronize()?;
    let gate = session.hold(other.cu_stream().addr());
    other.memset_zeros(&mut slice)?;
    let data = DeviceBuffer::<Cuda>::try_from(slice)?;
    gate.open();
    assert_eq!(data.to_vec::<u32>()?, [0; 16]);
    Ok(())
}

/// `cudarc` waits for uses of a slice only while the context has a stream of its own.
#[test]
fn writes_on_a_stream_that_was_dropped_are_waited_for() -> Outcome {
    let Some(session) = session() else { return Ok(()) };
    let context = CudaContext::new(0)?;
    let stream = context.default_stream();
    let copy = session.filled(0, 16);
    for taken in [true, false] {
        let mut slice = stream.clone_htod(&[1_u32; 16])?;
        stream.synchronize()?;
        let other = context.new_stream()?;
        let gate = session.hold(other.cu_stream().addr());
        other.memset_zeros(&mut slice)?;
        drop(other);
        let from = slice.data().as_ptr().addr();
        let exported: Box<dyn Any> = if taken {
            Box::new(DeviceBuffer::<Cuda>::try_from(slice)?)
        } else {
            slice.sync_for(named(1))?;
            Box::new(slice)
        };
        // SAFETY: both have as many bytes.
        check(unsafe { (session.driver.copy_in_order)(copy, from, 64, 0) });
        // Time in which the default stream would copy.
        thread::sleep(Duration::from_millis(50));
        gate.open();
        assert_eq!(session.read_on(0, copy, 16), [0; 16], "taken: {taken}");
        drop(exported);
    }
    session.free(copy);
    Ok(())
}

/// An exclusive borrow of a slice says nothing about reads that a stream still makes.
#[test]
fn reads_on_other_streams_end_before_a_consumer_writes() -> Outcome {
    let Some(session) = session() else { return Ok(()) };
    let context = CudaContext::new(0)?;
    for is_default in [true, false] {
        // Another stream would make `cudarc` record the uses.
        let stream = if is_default { context.default_stream() } else { context.new_stream()? };
        let slice = stream.clone_htod(&[1_u32; 16])?;
        let mut copy = stream.alloc_zeros::<u32>(16)?;
        stream.synchronize()?;
        let other = context.new_stream()?;
        let gate = session.hold(other.cu_stream().addr());
        other.memcpy_dtod(&slice, &mut copy)?;
        drop(other);
        let own = stream.cu_stream().addr();
        let exported = Words { data: slice, shape: [16] }.into_dlpack_on(named(own.max(1)))?;
        assert!(!exported.is_read_only());
        session.fill_on(own, exported.data_ptr().addr(), 9, 16);
        // Time in which the stream would write.
        thread::sleep(Duration::from_millis(50));
        gate.open();
        context.synchronize()?;
        assert_eq!(stream.clone_dtoh(&copy)?, [1; 16], "default stream: {is_default}");
        drop(exported);
    }
    Ok(())
}

#[test]
fn a_plain_slice_is_exported_to_its_own_stream_only() -> Outcome {
    let Some(_session) = session() else { return Ok(()) };
    let context = CudaContext::new(0)?;
    let (own, other) = (context.new_stream()?, context.new_stream()?);
    let plain = Plain { data: own.clone_htod(&[0.5_f32; 4])?, shape: [2, 2] };
    let streams = [&own, &other].map(|stream| stream.cu_stream().addr());
    assert_eq!(plain.data.sync_for(named(streams[0])), Ok(()));
    for elsewhere in [named(streams[1]), StreamArg::no_sync(), StreamArg::unspecified()] {
        assert!(matches!(plain.data.sync_for(elsewhere), Err(Error::Custom(_))));
    }
    let exported = plain.into_dlpack_on(named(streams[0]))?;
    assert_eq!(exported.device(), Device::cuda(0));
    drop(exported);
    Ok(())
}

/// A consumer of the exchange table works on the current stream, and continues after the
/// call has returned. The slice's free would not be ordered after that work.
#[test]
fn a_plain_slice_is_refused_on_another_current_stream() -> Outcome {
    let Some(_session) = session() else { return Ok(()) };
    let context = CudaContext::new(0)?;
    let (own, other) = (context.new_stream()?, context.new_stream()?);
    let slice = own.clone_htod(&[0.5_f32; 4])?;
    // Without a stream of its own the thread works on the default one.
    assert!(matches!(slice.sync_for(StreamArg::work_stream()), Err(Error::Custom(_))));
    for (stream, fits) in [(&own, true), (&other, false)] {
        let handle = StreamHandle::from_number(stream.cu_stream().addr());
        // SAFETY: 1. The stream lives as long as it is kept.
        let stream = unsafe {
            Cuda::stream_kept_by(Device::cuda(0), handle, Arc::<CudaStream>::clone(stream))
        }?;
        let _entered = Cuda::enter(stream);
        assert_eq!(slice.sync_for(StreamArg::work_stream()).is_ok(), fits);
    }
    Ok(())
}

/// An entered stream lives as long as any handle to it.
#[test]
fn an_entered_stream_is_kept() -> Outcome {
    let Some(session) = session() else { return Ok(()) };
    let handle;
    let buffer = {
        let stream = CudaContext::new(0)?.new_stream()?;
        handle = StreamHandle::from_number(stream.cu_stream().addr());
        // SAFETY: 1. The stream lives as long as it is kept.
        let entered =
            Cuda::enter(unsafe { Cuda::stream_kept_by(Device::cuda(0), handle, stream) }?);
        let pinned = WorkStream::<Cuda>::current(Device::CUDA_HOST)?;
        assert_eq!((pinned.handle(), pinned.device()), (handle, Device::CUDA_HOST));
        let buffer = DeviceBuffer::<Cuda>::zeroed(Device::cuda(0), DataType::U8, 4)?;
        drop(entered);
        buffer
    };
    assert_eq!(buffer.stream().handle(), handle);
    assert_eq!(WorkStream::<Cuda>::current(Device::cuda(0))?.handle(), StreamHandle::NULL);
    // On the simulator this is an error where the stream is gone.
    assert_eq!(buffer.to_vec::<u8>()?, [0; 4]);
    drop(buffer);
    drop(session);
    Ok(())
}

#[test]
fn a_per_thread_stream_has_no_lasting_handle() -> Outcome {
    let Some(_session) = session() else { return Ok(()) };
    let stream = CudaContext::new(0)?.per_thread_stream();
    let slice = stream.clone_htod(&[1_u8])?;
    let refused = DeviceBuffer::<Cuda>::try_from(slice).map(drop);
    assert!(matches!(refused, Err(Error::StreamRefused { stream: Some(2), .. })), "{refused:?}");
    Ok(())
}

/// A function with types of `cudarc` in and out: a tensor of a producer becomes a view, and
/// the result a tensor that is ready on the caller's stream.
#[test]
fn an_imported_tensor_is_a_view_and_a_slice_is_a_result() -> Outcome {
    let Some(session) = session() else { return Ok(()) };
    let stream = CudaContext::new(0)?.new_stream()?;
    let caller = session.new_stream();
    let gate = session.hold(caller);
    // SAFETY: tests keep their streams to their ends.
    let work =
        unsafe { WorkStream::<Cuda>::borrow(Device::cuda(0), StreamHandle::from_number(caller)) }?;
    let data = DeviceBuffer::<Cuda>::zeroed_on(work.clone(), DataType::U32, 16)?;
    session.fill_on(caller, data.as_ptr().addr(), 7, 16);
    let imported = Vector { data, shape: [16] }.into_dlpack_on(named(caller))?.import()?;
    // SAFETY: 1. It was exported for the stream. 2. `DeviceBuffer` frees in its order.
    let x = unsafe { DeviceTensor::new(imported, work, FreeOrder::StreamOrdered) }?;

    let wrong = x.with_cuda_view::<f32, _>(&stream, |_| ());
    assert!(matches!(wrong, Err(Error::ElementMismatch { .. })), "{wrong:?}");
    let copy = x.with_cuda_view::<u32, _>(&stream, |x| stream.clone_dtod(&x))??;
    x.with_cuda_view_mut::<u32, _>(&stream, |mut x| stream.memset_zeros(&mut x))??;
    drop(x);
    let result = Vector { data: copy.try_into()?, shape: [16] }.into_dlpack_on(named(caller))?;
    let result = result.import()?;
    // The consumer works on its own stream, and waits neither on the host nor too little.
    let seen = session.filled(0, 16);
    // SAFETY: both have as many bytes.
    check(unsafe { (session.driver.copy_in_order)(seen, result.data_ptr().addr(), 64, caller) });
    gate.open();
    assert_eq!(session.read_on(caller, seen, 16), [7; 16]);
    drop(result);
    session.free(seen);
    session.destroy_stream(caller);
    Ok(())
}

/// `cudarc` waits for uses of a slice only while the context has a stream of its own.
#[test]
fn a_view_waits_for_a_stream_that_is_dropped_before_its_work_ends() -> Outcome {
    let Some(session) = session() else { return Ok(()) };
    let context = CudaContext::new(0)?;
    let stream = context.default_stream();
    let caller = session.new_stream();
    // SAFETY: tests keep their streams to their ends.
    let work =
        unsafe { WorkStream::<Cuda>::borrow(Device::cuda(0), StreamHandle::from_number(caller)) }?;
    let data = DeviceBuffer::<Cuda>::zeroed_on(work.clone(), DataType::U32, 16)?;
    let imported = Vector { data, shape: [16] }.into_dlpack_on(named(caller))?.import()?;
    // SAFETY: 1. It was exported for the stream. 2. `DeviceBuffer` frees in its order.
    let x = unsafe { DeviceTensor::new(imported, work, FreeOrder::StreamOrdered) }?;
    let gate = x.with_cuda_view_mut::<u32, _>(&stream, |mut x| {
        let other = context.new_stream()?;
        let gate = session.hold(other.cu_stream() as usize);
        other.memset_zeros(&mut x).map(|()| gate)
    })??;
    drop(x);
    // Time in which the caller's stream would free the memory.
    thread::sleep(Duration::from_millis(100));
    gate.open();
    context.synchronize()?;
    session.destroy_stream(caller);
    Ok(())
}

#[derive(DLPackExport)]
struct Vector {
    data: DeviceBuffer<Cuda>,
    shape: [usize; 1],
}
