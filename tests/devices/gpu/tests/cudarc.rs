//! `cudarc`, unmodified, on the simulator: copies, streams, events, kernels, graphs,
//! pinned and managed memory. It is an independent test of the simulator.

#![cfg(target_os = "linux")]
#![expect(clippy::std_instead_of_core, reason = "tests for machines that have std")]

use std::ffi::{CStr, c_void};
use std::sync::Arc;

use cudarc::driver::result::{self, stream::launch_host_function};
use cudarc::driver::sys::{CUgraphInstantiate_flags, CUmodule, CUresult, CUstreamCaptureMode};
use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DevicePtr, DriverError};
use dlpack_gpu_tests::gate::Gate;
use dlpack_gpu_tests::kernels::PTX;
use dlpack_gpu_tests::session::session;

fn hold(stream: &CudaStream) -> Gate {
    let gate = Gate::closed();
    stream.context().bind_to_thread().expect("a context");
    // SAFETY: the argument is for this one call.
    unsafe { launch_host_function(stream.cu_stream(), Gate::pass, gate.argument()) }
        .expect("a call");
    gate
}

#[test]
fn data_survives_a_round_trip() -> Result<(), DriverError> {
    let Some(session) = session() else { return Ok(()) };
    let context = CudaContext::new(0)?;
    assert!(context.name()?.starts_with("Simulated") == session.simulator.is_some());
    let stream = context.default_stream();
    let numbers: Vec<f32> = (0_u16..1000).map(f32::from).collect();
    let there = stream.clone_htod(&numbers)?;
    let copied = stream.clone_dtod(&there)?;
    assert_eq!(stream.clone_dtoh(&copied)?, numbers);
    Ok(())
}

#[test]
fn fresh_memory_is_not_zero_until_zeroed() -> Result<(), DriverError> {
    let Some(session) = session() else { return Ok(()) };
    let stream = CudaContext::new(0)?.new_stream()?;
    // SAFETY: bytes of any value are bytes.
    let fresh: CudaSlice<u8> = unsafe { stream.alloc(64) }?;
    let found = stream.clone_dtoh(&fresh)?;
    if session.simulator.is_some() {
        assert_eq!(found, [0xCD; 64]);
    }
    assert_eq!(stream.clone_dtoh(&stream.alloc_zeros::<u8>(64)?)?, [0; 64]);
    Ok(())
}

/// Only events decide whether another stream reads the earlier or the later value.
#[test]
fn streams_are_ordered_by_events_alone() -> Result<(), DriverError> {
    let Some(session) = session() else { return Ok(()) };
    let context = CudaContext::new(0)?;
    // SAFETY: this test orders its streams by itself.
    unsafe { context.disable_event_tracking() };
    let (producer, consumer) = (context.new_stream()?, context.new_stream()?);
    let mut data = producer.clone_htod(&[1_u32; 256])?;
    producer.synchronize()?;
    let gate = hold(&producer);
    producer.memset_zeros(&mut data)?;

    if session.simulator.is_some() {
        assert_eq!(
            consumer.clone_dtoh(&data)?,
            [1; 256],
            "the consumer is not ordered after the producer"
        );
    }
    let event = producer.record_event(None)?;
    assert!(!event.is_complete());
    consumer.wait(&event)?;
    let mut copy = consumer.alloc_zeros::<u32>(256)?;
    consumer.memcpy_dtod(&data, &mut copy)?;
    gate.open();
    assert_eq!(consumer.clone_dtoh(&copy)?, [0; 256]);
    assert!(event.is_complete());
    Ok(())
}

/// The legacy default stream takes turns with the per-thread one, and with
/// neither of `cudarc`'s own.
#[test]
fn the_legacy_stream_waits_for_blocking_streams() -> Result<(), DriverError> {
    let Some(_session) = session() else { return Ok(()) };
    let context = CudaContext::new(0)?;
    let (legacy, thread) = (context.default_stream(), context.per_thread_stream());
    let mut data = legacy.clone_htod(&[7_u32; 16])?;
    legacy.synchronize()?;
    let gate = hold(&thread);
    thread.memset_zeros(&mut data)?;
    let mut copy = legacy.alloc_zeros::<u32>(16)?;
    legacy.memcpy_dtod(&data, &mut copy)?;
    gate.open();
    assert_eq!(legacy.clone_dtoh(&copy)?, [0; 16]);
    Ok(())
}

/// Launches a kernel with one thread for each element, and waits for it.
fn launch(
    stream: &Arc<CudaStream>,
    module: CUmodule,
    name: &CStr,
    arguments: &mut [*mut c_void],
) -> Result<(), DriverError> {
    stream.context().bind_to_thread()?;
    // SAFETY: the module is loaded.
    let function = unsafe { result::module::get_function(module, name.to_owned()) }?;
    // SAFETY: callers pass the arguments of the kernel.
    unsafe {
        result::launch_kernel(function, (4, 1, 1), (64, 1, 1), 0, stream.cu_stream(), arguments)
    }?;
    stream.synchronize()
}

#[test]
fn kernels_run_by_name() -> Result<(), DriverError> {
    let Some(_session) = session() else { return Ok(()) };
    let stream = CudaContext::new(0)?.new_stream()?;
    let data = stream.alloc_zeros::<u32>(200)?;
    // SAFETY: the text of a module.
    let module = unsafe { result::module::load_data(PTX.as_ptr().cast()) }?;
    {
        let (mut address, _used) = data.device_ptr(&stream);
        let (mut value, mut count) = (40_u32, 200_u32);
        let mut arguments: [*mut c_void; 3] =
            [(&raw mut address).cast(), (&raw mut value).cast(), (&raw mut count).cast()];
        launch(&stream, module, c"fill_u32", &mut arguments)?;
        let mut two = 2_u32;
        arguments[1] = (&raw mut two).cast();
        launch(&stream, module, c"add_u32", &mut arguments)?;
    }
    assert_eq!(stream.clone_dtoh(&data)?, [42; 200]);
    let mut nanoseconds = 1000_u64;
    launch(&stream, module, c"spin_ns", &mut [(&raw mut nanoseconds).cast()])?;
    let unknown = launch(&stream, module, c"no_such_kernel", &mut []).unwrap_err();
    assert_eq!(unknown, DriverError(CUresult::CUDA_ERROR_NOT_FOUND));
    // SAFETY: it was loaded above, and its launches have finished.
    unsafe { result::module::unload(module) }
}

#[test]
fn a_graph_repeats_its_work_at_each_launch() -> Result<(), DriverError> {
    let Some(_session) = session() else { return Ok(()) };
    let context = CudaContext::new(0)?;
    // SAFETY: this test has one stream.
    unsafe { context.disable_event_tracking() };
    let stream = context.new_stream()?;
    let mut data = stream.clone_htod(&[5_u32; 8])?;
    stream.synchronize()?;
    stream.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL)?;
    stream.memset_zeros(&mut data)?;
    let graph = stream
        .end_capture(CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH)?
        .expect("a graph");
    assert_eq!(stream.clone_dtoh(&data)?, [5; 8], "a capture does nothing");
    graph.launch()?;
    assert_eq!(stream.clone_dtoh(&data)?, [0; 8]);
    stream.memcpy_htod(&[6_u32; 8], &mut data)?;
    graph.launch()?;
    assert_eq!(stream.clone_dtoh(&data)?, [0; 8]);
    Ok(())
}

#[test]
fn pinned_memory_is_copied_without_the_host() -> Result<(), DriverError> {
    let Some(_session) = session() else { return Ok(()) };
    let context = CudaContext::new(0)?;
    let stream = context.new_stream()?;
    // SAFETY: it is written before it is read.
    let mut pinned = unsafe { context.alloc_pinned::<u32>(32) }?;
    pinned.as_mut_slice()?.fill(3);
    let gate = hold(&stream);
    let there = stream.clone_htod(&pinned)?;
    gate.open();
    assert_eq!(stream.clone_dtoh(&there)?, [3; 32]);
    Ok(())
}

#[test]
fn managed_memory_is_shared_by_host_and_device() -> Result<(), DriverError> {
    let Some(_session) = session() else { return Ok(()) };
    let context = CudaContext::new(0)?;
    let stream = context.default_stream();
    // SAFETY: it is written before it is read.
    let mut managed = unsafe { context.alloc_unified::<u32>(8, true) }?;
    stream.memset_zeros(&mut managed)?;
    stream.synchronize()?;
    assert_eq!(managed.as_slice()?, [0; 8]);
    Ok(())
}

#[test]
fn errors_are_returned_as_codes() -> Result<(), DriverError> {
    let Some(session) = session() else { return Ok(()) };
    let context = CudaContext::new(0)?;
    let refused = CudaContext::new(1000).unwrap_err();
    assert_eq!(refused, DriverError(CUresult::CUDA_ERROR_INVALID_DEVICE));
    if let Some(simulator) = session.simulator {
        simulator.fail(Some("cuMemAllocAsync"), 1, 2);
        let stream = context.default_stream();
        let first = stream.alloc_zeros::<u8>(1)?;
        let second = stream.alloc_zeros::<u8>(1).map(drop).unwrap_err();
        assert_eq!(second, DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY));
        assert!(simulator.fail_none());
        drop(first);
    }
    Ok(())
}
