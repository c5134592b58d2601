//! ROCm: the differences from CUDA. All other code is shared and tested with CUDA.

#![cfg(target_os = "linux")]
#![expect(clippy::std_instead_of_core, reason = "tests for machines that have std")]

use std::thread;
use std::time::Duration;

use dlpack_gpu_tests::gate::Gate;
use dlpack_gpu_tests::hidden::Hidden;
use dlpack_gpu_tests::hip::{HipFunctions, hip};
use dlpack_gpu_tests::session::{check, skipped};
use dlpack_gpu_tests::simulator::{Counts, Simulator};
use dlpack_traits::backend::{
    Attributes, Backends, Cpu, DeviceBuffer, Rocm, StreamHandle, WorkStream, copy_to_host,
    device_error,
};
use dlpack_traits::{DLPackExport, DataType, Device, Error, StreamArg};

const COUNT: usize = 16;
const DEVICE: Device = Device::rocm(0);

struct Runtime {
    hip: &'static HipFunctions,
    simulator: Option<Simulator>,
    before: Option<Counts>,
    _alone: std::sync::MutexGuard<'static, ()>,
}

fn runtime() -> Option<Runtime> {
    let alone = dlpack_gpu_tests::session::alone();
    let Some((library, hip)) = hip() else {
        return skipped("rocm", "the loader finds no libamdhip64");
    };
    let mut count = 0;
    // SAFETY: the answer has a place.
    let started = unsafe { (hip.device_count)(&raw mut count) };
    if started != 0 {
        return skipped("rocm", &format!("hipGetDeviceCount answers {started}"));
    }
    let simulator = Simulator::of(library);
    Some(Runtime { hip, simulator, before: simulator.map(Simulator::counts), _alone: alone })
}

impl Drop for Runtime {
    fn drop(&mut self) {
        if let (Some(simulator), false) = (self.simulator, thread::panicking()) {
            assert_eq!(simulator.clear_error(), 0, "what the GPU says at the end");
            assert_eq!(Some(simulator.counts()), self.before, "something leaked");
        }
    }
}

impl Runtime {
    fn new_stream(&self) -> usize {
        let mut stream = 0;
        // SAFETY: the answer has a place.
        check(unsafe { (self.hip.stream_create)(&raw mut stream, 1) });
        stream
    }

    fn destroy(&self, stream: usize) {
        // SAFETY: tests call this once for a stream that they made.
        check(unsafe { (self.hip.stream_destroy)(stream) });
    }

    fn synchronize(&self, stream: usize) {
        // SAFETY: a stream of the test.
        check(unsafe { (self.hip.stream_synchronize)(stream) });
    }

    fn fill(&self, stream: usize, buffer: &DeviceBuffer<Rocm>, value: i32) {
        let to = buffer.as_ptr().addr();
        // SAFETY: memory and stream of the test.
        check(unsafe { (self.hip.fill_in_order)(to, value, COUNT, stream) });
    }

    fn hold(&self, stream: usize) -> Gate {
        let gate = Gate::closed();
        // SAFETY: the argument is for this one call.
        check(unsafe { (self.hip.launch_host)(stream, Some(Gate::pass), gate.argument()) });
        gate
    }

    /// Returns what a consumer on `stream` reads after `sync_for` with `says`.
    fn consumed(&self, says: StreamArg<'_>, stream: usize) -> Result<i32, Error> {
        let producer = self.new_stream();
        let (buffer, copy) = (buffer(producer), buffer(producer));
        self.fill(producer, &buffer, 1);
        self.synchronize(producer);
        let gate = self.hold(producer);
        self.fill(producer, &buffer, 2);
        let handed_off = buffer.sync_for(says);
        if handed_off.is_ok() {
            let (to, from) = (copy.as_ptr().addr(), buffer.as_ptr().addr());
            // SAFETY: both have as many bytes. 4: the runtime finds out where.
            check(unsafe { (self.hip.copy_in_order)(to, from, COUNT * 4, 4, stream) });
        }
        if says.kind() == dlpack_traits::StreamKind::NoSync {
            self.synchronize(stream);
        }
        gate.open();
        self.synchronize(stream);
        let read = copy.to_vec::<i32>()?[COUNT - 1];
        drop((buffer, copy));
        self.destroy(producer);
        handed_off.map(|()| read)
    }
}

fn buffer(stream: usize) -> DeviceBuffer<Rocm> {
    let handle = StreamHandle::from_number(stream);
    // SAFETY: tests destroy their streams at their ends.
    let stream = unsafe { WorkStream::borrow(DEVICE, handle) }.expect("a stream");
    DeviceBuffer::zeroed_on(stream, DataType::I32, COUNT).expect("memory")
}

fn named(stream: usize) -> StreamArg<'static> {
    // SAFETY: a default stream, or one that the test destroys at its end.
    unsafe { StreamArg::from_handle(stream) }
}

#[test]
fn streams_follow_the_rules_of_rocm() {
    let Some(runtime) = runtime() else { return };
    let consumer = runtime.new_stream();
    assert_eq!(runtime.consumed(StreamArg::unspecified(), 0), Ok(2));
    assert_eq!(runtime.consumed(named(0), 0), Ok(2));
    assert_eq!(runtime.consumed(named(consumer), consumer), Ok(2));
    for number in [1, 2] {
        let refused = runtime.consumed(named(number), 0);
        assert!(
            matches!(refused, Err(Error::StreamRefused { stream, .. }) if stream == Some(number))
        );
    }
    let stale = runtime.consumed(StreamArg::no_sync(), consumer);
    if runtime.simulator.is_some() {
        assert_eq!(stale, Ok(1));
    }
    runtime.destroy(consumer);
}

#[test]
fn a_required_library_that_is_missing_fails_the_test() {
    let test = "pointers_are_classified_by_the_runtime";
    Hidden::libraries("rocm").check_requirement(test, "rocm");
}

#[test]
fn pointers_are_classified_by_the_runtime() -> Result<(), Error> {
    let Some(_runtime) = runtime() else { return Ok(()) };
    for (device, host_accessible) in [(DEVICE, false), (Device::ROCM_HOST, true)] {
        let buffer = DeviceBuffer::<Rocm>::zeroed(device, DataType::U8, 100)?;
        let expected = Attributes { device, host_accessible };
        assert_eq!(Rocm::pointer_attributes(buffer.as_ptr(), device), Ok(expected));
        assert_eq!(buffer.to_vec::<u8>()?, [0; 100]);
    }
    let ours = [0_u8; 4];
    let unknown = Rocm::pointer_attributes(ours.as_ptr().cast(), DEVICE);
    assert_eq!(unknown, Err(Error::NoBackend { device: DEVICE }));
    Ok(())
}

#[derive(DLPackExport)]
struct Samples {
    data: DeviceBuffer<Rocm>,
    shape: [usize; 1],
}

#[test]
fn tensors_of_every_gpu_are_dropped_on_any_thread() -> Result<(), Error> {
    let Some(runtime) = runtime() else { return Ok(()) };
    let mut before = -1;
    // SAFETY: the answer has a place.
    check(unsafe { (runtime.hip.device_get)(&raw mut before) });
    for ordinal in 0..i32::try_from(Rocm::device_count()?).expect("a few") {
        let data = DeviceBuffer::from_slice(Device::rocm(ordinal), &[1.5_f32; 3])?;
        let samples = Samples { data, shape: [3] };
        let copy = copy_to_host::<(Cpu, Rocm), _>(&samples)?;
        assert_eq!(copy.device(), Device::CPU);
        let exported = samples.into_dlpack()?;
        assert_eq!(exported.device(), Device::rocm(ordinal));
        thread::spawn(move || drop(exported)).join().expect("no panic");
    }
    let mut after = -1;
    // SAFETY: the answer has a place.
    check(unsafe { (runtime.hip.device_get)(&raw mut after) });
    assert_eq!(after, before, "the backend leaves the current device alone");
    Ok(())
}

/// Waiting for events works across GPUs, so the runtime does not refuse such a stream. But
/// no free of this GPU's memory waits for it.
#[test]
fn a_stream_of_another_gpu_is_refused() -> Result<(), Error> {
    let Some(runtime) = runtime() else { return Ok(()) };
    if Rocm::device_count()? < 2 {
        return skipped("a second GPU", "there is one").unwrap_or(Ok(()));
    }
    let buffer = DeviceBuffer::<Rocm>::zeroed(DEVICE, DataType::U8, 4)?;
    // SAFETY: a GPU that exists.
    check(unsafe { (runtime.hip.device_set)(1) });
    let stream = runtime.new_stream();
    // SAFETY: as above.
    check(unsafe { (runtime.hip.device_set)(0) });
    let what = "stream of another device";
    let refused = Err(Error::Unsupported { device: DEVICE, what });
    assert_eq!(buffer.sync_for(named(stream)), refused);
    drop(buffer);
    runtime.destroy(stream);
    Ok(())
}

#[test]
fn a_free_waits_for_uses_on_other_streams() -> Result<(), Error> {
    let Some(runtime) = runtime() else { return Ok(()) };
    let consumer = runtime.new_stream();
    let (data, copy) = (DeviceBuffer::<Rocm>::from_slice(DEVICE, &[9_i32; COUNT])?, buffer(0));
    data.sync_for(named(consumer))?;
    let gate = runtime.hold(consumer);
    let (to, from) = (copy.as_ptr().addr(), data.as_ptr().addr());
    // SAFETY: both have as many bytes.
    check(unsafe { (runtime.hip.copy_in_order)(to, from, COUNT * 4, 4, consumer) });
    let opener = thread::spawn(move || {
        thread::sleep(Duration::from_millis(20));
        gate.open();
    });
    drop(data);
    runtime.synchronize(consumer);
    assert_eq!(copy.to_vec::<i32>()?, [9; COUNT]);
    opener.join().expect("no panic");
    drop(copy);
    runtime.destroy(consumer);
    Ok(())
}

#[test]
fn every_call_of_a_sync_for_can_fail() {
    let Some(runtime) = runtime() else { return };
    let Some(simulator) = runtime.simulator else { return };
    let (producer, consumer) = (runtime.new_stream(), runtime.new_stream());
    let buffer = buffer(producer);
    for after in 0.. {
        let before = simulator.counts();
        simulator.fail(None, after, 998);
        let outcome = buffer.sync_for(named(consumer));
        let failed = simulator.failed();
        simulator.fail_none();
        assert_eq!(simulator.counts(), before, "{failed:?}");
        let Some(call) = failed else { break };
        if call != "hipEventDestroy" && call != "hipGetDevice" {
            assert_eq!(outcome, Err(device_error(DEVICE, call, 998, "")));
        }
    }
    // The driver has a text for this code.
    simulator.fail(Some("hipEventRecord"), 0, 700);
    let failed = device_error(DEVICE, "hipEventRecord", 700, "CUDA_ERROR_ILLEGAL_ADDRESS");
    assert_eq!(buffer.sync_for(named(consumer)), Err(failed));
    drop(buffer);
    runtime.destroy(consumer);
    runtime.destroy(producer);
}
