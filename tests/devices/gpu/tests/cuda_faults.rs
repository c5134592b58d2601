//! Every call of the driver fails once: the error names it, nothing panics, and the only
//! leaks are of memory that cannot be freed safely.

#![cfg(target_os = "linux")]

use core::time::Duration;
use std::collections::BTreeSet;
use std::thread;

use dlpack_gpu_tests::session::session;
use dlpack_gpu_tests::simulator::Simulator;
use dlpack_traits::backend::{Backends, Cuda, DeviceBuffer, device_error};
use dlpack_traits::{DataType, Device, Error, StreamArg};

/// A code that the driver uses for nothing.
const CODE: i32 = 998;
/// The functions that release an event, a context or a mode.
const GIVE_BACK: [&str; 5] = [
    "cuCtxGetCurrent",
    "cuCtxPushCurrent_v2",
    "cuCtxPopCurrent_v2",
    "cuEventDestroy_v2",
    "cuThreadExchangeStreamCaptureMode",
];
const DEVICE: Device = Device::cuda(0);

/// Makes each call of `scenario` fail in turn. Returns the functions that failed.
fn fail_each_call(
    simulator: Simulator,
    mut scenario: impl FnMut() -> Result<(), Error>,
) -> BTreeSet<&'static str> {
    let mut failed = BTreeSet::new();
    for after in 0.. {
        let before = simulator.counts();
        simulator.fail(None, after, CODE);
        let outcome = scenario();
        let fired = simulator.failed();
        simulator.fail_none();
        let Some(call) = fired else {
            assert_eq!(outcome, Ok(()), "no call failed");
            break;
        };
        failed.insert(call);
        match outcome {
            Err(error) => {
                assert_eq!(error, device_error(DEVICE, call, CODE.into(), ""));
            }
            // A release after all work was done; there is no caller to return the error
            // to.
            Ok(()) => assert!(GIVE_BACK.contains(&call), "{call} failed unnoticed"),
        }
        assert_eq!(simulator.counts(), before, "{call} failed, and something leaked");
        assert!(after < 1000, "no end");
    }
    failed
}

#[test]
fn every_driver_call_of_sync_for_can_fail() {
    let Some(session) = session() else { return };
    let Some(simulator) = session.only_simulated() else { return };
    let (producer, consumer) = (session.new_stream(), session.new_stream());
    let stream = session.work_stream(producer);
    let buffer = DeviceBuffer::zeroed_on(stream, DataType::U8, 8).expect("memory");
    // SAFETY: destroyed at the end.
    let theirs = unsafe { StreamArg::from_handle(consumer) };
    // On a thread that has no context, as a deleter's.
    let failed = std::thread::scope(|scope| {
        let alone = scope.spawn(|| fail_each_call(simulator, || buffer.sync_for(theirs)));
        alone.join().expect("no panic")
    });
    for call in ["cuCtxPushCurrent_v2", "cuEventCreate", "cuEventRecord", "cuStreamWaitEvent"] {
        assert!(failed.contains(call), "{call} was not made to fail: {failed:?}");
    }
    drop(buffer);
    session.destroy_stream(consumer);
    session.destroy_stream(producer);
}

#[test]
fn every_driver_call_of_an_allocation_can_fail() {
    let Some(session) = session() else { return };
    let Some(simulator) = session.only_simulated() else { return };
    for device in [DEVICE, Device::CUDA_HOST, Device::CUDA_MANAGED] {
        for after in 0.. {
            let before = simulator.counts();
            simulator.fail(None, after, CODE);
            let outcome = DeviceBuffer::<Cuda>::zeroed(device, DataType::U8, 8);
            let failed = simulator.failed();
            simulator.fail_none();
            let Some(call) = failed else {
                assert!(outcome.is_ok());
                break;
            };
            match outcome.map(drop) {
                Err(error) => assert_eq!(error, device_error(device, call, CODE.into(), "")),
                Ok(()) => assert!(GIVE_BACK.contains(&call), "{call} failed unnoticed"),
            }
            assert_eq!(simulator.counts(), before, "{call} failed, and something leaked");
        }
    }
    simulator.fail(Some("cuMemAllocAsync"), 0, 2);
    let refused = DeviceBuffer::<Cuda>::zeroed(DEVICE, DataType::U8, 8).map(drop);
    assert_eq!(refused, Err(Error::OutOfMemory { bytes: 8 }));
}

#[test]
fn errors_have_the_text_of_the_driver() {
    let Some(session) = session() else { return };
    let Some(simulator) = session.only_simulated() else { return };
    simulator.fail(Some("cuMemHostAlloc"), 0, 700);
    let refused = DeviceBuffer::<Cuda>::zeroed(Device::CUDA_HOST, DataType::U8, 8).map(drop);
    let text = refused.expect_err("the call fails").to_string();
    let call = "`cuMemHostAlloc` returned 700 for cuda_host";
    assert_eq!(text, format!("{call}: CUDA_ERROR_ILLEGAL_ADDRESS"));
}

#[test]
fn every_driver_call_of_a_copy_can_fail() {
    let Some(session) = session() else { return };
    let Some(simulator) = session.only_simulated() else { return };
    let buffer = DeviceBuffer::<Cuda>::from_slice(DEVICE, &[1_u8; 8]).expect("memory");
    let failed = fail_each_call(simulator, || buffer.to_vec::<u8>().map(drop));
    for call in ["cuMemcpyDtoHAsync_v2", "cuStreamSynchronize"] {
        assert!(failed.contains(call), "{call} was not made to fail: {failed:?}");
    }
    drop(buffer);
}

#[test]
fn every_driver_call_of_a_pointer_query_can_fail() {
    let Some(session) = session() else { return };
    let Some(simulator) = session.only_simulated() else { return };
    let buffer = DeviceBuffer::<Cuda>::from_slice(DEVICE, &[1_u8; 8]).expect("memory");
    let failed =
        fail_each_call(simulator, || Cuda::pointer_attributes(buffer.as_ptr(), DEVICE).map(drop));
    assert_eq!(failed, BTreeSet::from(["cuPointerGetAttribute"]));
    drop(buffer);
}

/// A free that cannot be ordered is not done: memory that may be in use is kept.
#[test]
fn every_driver_call_of_a_free_can_fail() {
    let Some(session) = session() else { return };
    let Some(simulator) = session.only_simulated() else { return };
    let (producer, consumer) = (session.new_stream(), session.new_stream());
    let mut all = BTreeSet::new();
    // Without pending work, and with some.
    for held in [false, true] {
        for after in 0.. {
            let stream = session.work_stream(producer);
            let buffer = DeviceBuffer::zeroed_on(stream, DataType::U8, 8).expect("memory");
            let address = buffer.as_ptr().addr();
            // SAFETY: destroyed at the end.
            buffer.sync_for(unsafe { StreamArg::from_handle(consumer) }).expect("a hand-off");
            let before = simulator.counts();
            let gate = held.then(|| session.hold(consumer));
            // If the work cannot be recorded, the host waits for it.
            let opener = thread::spawn(move || {
                thread::sleep(Duration::from_millis(10));
                if let Some(gate) = gate {
                    gate.open();
                }
            });
            simulator.fail(None, after, CODE);
            drop(buffer);
            let failed = simulator.failed();
            simulator.fail_none();
            opener.join().expect("no panic");
            let now = simulator.counts();
            let freed = now.device_memory < before.device_memory;
            assert_eq!((now.events, now.streams), (before.events, before.streams), "{failed:?}");
            let Some(call) = failed else {
                assert!(freed, "no call failed");
                break;
            };
            all.insert(call);
            if !freed {
                // The kept memory is intact, and is freed here.
                // SAFETY: its owner did not free it: that call failed.
                let code = unsafe { (session.driver.free_in_order)(address, producer) };
                assert_eq!(code, 0, "{call}");
            }
        }
    }
    for call in ["cuCtxRecordEvent", "cuEventQuery", "cuCtxGetId", "cuStreamWaitEvent"] {
        assert!(all.contains(call), "{call} was not made to fail: {all:?}");
    }
    session.destroy_stream(consumer);
    session.destroy_stream(producer);
}
