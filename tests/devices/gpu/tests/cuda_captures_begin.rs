//! A capture of another stream begins in the middle of a call on the legacy default
//! stream, which then can neither be waited for nor be given work.

#![cfg(target_os = "linux")]

use std::sync::mpsc;
use std::thread;

use dlpack_gpu_tests::session::{Session, check, session};
use dlpack_gpu_tests::simulator::Simulator;
use dlpack_traits::backend::{Cuda, DeviceBuffer};
use dlpack_traits::{DataType, Device, Error};

/// `CU_STREAM_CAPTURE_MODE_GLOBAL`.
const GLOBAL: u32 = 0;
const COUNT: usize = 16;
const GPU: Device = Device::cuda(0);

/// A stream that takes turns with the legacy default stream, as CuPy's do.
fn blocking_stream(session: &Session) -> usize {
    let mut stream = 0;
    // SAFETY: the answer has a place, and a context is current.
    check(unsafe { (session.driver.stream_create)(&raw mut stream, 0) });
    stream
}

/// Another thread captures the stream, from the next call of `name` on this thread until
/// the result is called. The work of this thread may spoil that capture.
fn capture_before(
    session: &Session,
    simulator: Simulator,
    name: &str,
    stream: usize,
) -> impl FnOnce() {
    let (driver, context) = (session.driver, session.context());
    let (ask, asked) = mpsc::channel::<()>();
    let (answer, begun) = mpsc::channel();
    let (end, may_end) = mpsc::channel::<()>();
    let captures = thread::spawn(move || {
        // SAFETY: retained by the session.
        check(unsafe { (driver.context_set)(context) });
        asked.recv().expect("a sender");
        // SAFETY: a stream of the test, and a documented mode.
        check(unsafe { (driver.begin_capture)(stream, GLOBAL) });
        answer.send(()).expect("a receiver");
        may_end.recv().expect("a sender");
        let mut graph = 0;
        // SAFETY: the answer has a place.
        unsafe { (driver.end_capture)(stream, &raw mut graph) };
        // SAFETY: it is not used any more, or NULL, which is refused.
        unsafe { (driver.graph_destroy)(graph) };
    });
    simulator.before(name, move || {
        ask.send(()).expect("a receiver");
        begun.recv().expect("a sender");
    });
    move || {
        end.send(()).expect("a receiver");
        captures.join().expect("no panic");
    }
}

/// The copy was enqueued, and cannot be waited for. The caller has its memory back all the
/// same, and may free it: the copy does not use it.
#[test]
fn a_copy_without_a_wait_does_not_touch_the_callers_memory() {
    let Some(session) = session() else { return };
    let Some(simulator) = session.only_simulated() else { return };
    let stream = blocking_stream(&session);
    let mut pinned = 0;
    // Pinned memory is copied when the stream reaches the copy, not before the call
    // returns.
    // SAFETY: the output place is valid.
    check(unsafe { (session.driver.allocate_pinned)(&raw mut pinned, COUNT * 4, 0) });
    let first = core::ptr::with_exposed_provenance_mut::<u32>(pinned);
    let gate = session.hold(0);
    let end = capture_before(&session, simulator, "cuStreamSynchronize", stream);
    {
        // SAFETY: the allocation has as many, and any bits are a number.
        let elements = unsafe { core::slice::from_raw_parts(first, COUNT) };
        let outcome = DeviceBuffer::<Cuda>::from_slice(GPU, elements).map(drop);
        assert!(
            matches!(outcome, Err(Error::Device { call: "cuStreamSynchronize", code: 906, .. })),
            "{outcome:?}"
        );
    }
    end();
    // SAFETY: the slice is gone.
    check(unsafe { (session.driver.free_pinned)(pinned) });
    gate.open();
    // On the simulator, a copy of memory that was freed is an error of the device.
    session.synchronize(0);
    free_later();
    session.destroy_stream(stream);
}

/// Every allocation frees the memory whose free was deferred.
fn free_later() {
    drop(DeviceBuffer::<Cuda>::zeroed(GPU, DataType::U8, 1).expect("memory"));
}

/// A buffer on the legacy default stream is dropped while another stream is captured: no
/// graph names it, so the next allocation after the capture frees it.
#[test]
fn memory_is_freed_when_the_capture_has_ended() -> Result<(), Error> {
    let Some(session) = session() else { return Ok(()) };
    let stream = blocking_stream(&session);
    for device in [GPU, Device::CUDA_HOST, Device::CUDA_MANAGED] {
        let counts = || session.simulator.map(Simulator::counts);
        let before = counts();
        let buffer = DeviceBuffer::<Cuda>::zeroed(device, DataType::U32, COUNT)?;
        let with_it = counts();
        // SAFETY: a stream of the test, and a documented mode.
        check(unsafe { (session.driver.begin_capture)(stream, GLOBAL) });
        drop(buffer);
        let mut graph = 0;
        // SAFETY: the answer has a place.
        let ended = unsafe { (session.driver.end_capture)(stream, &raw mut graph) };
        assert_eq!(ended, 0, "the free has spoilt the capture");
        // SAFETY: it is not used any more.
        check(unsafe { (session.driver.graph_destroy)(graph) });
        assert_eq!(counts(), with_it, "freed while the capture went on");
        free_later();
        assert_eq!(counts(), before);
    }
    session.destroy_stream(stream);
    Ok(())
}
