//! The conformance kit, on both vendors' runtimes.

#![cfg(target_os = "linux")]

use std::sync::{Arc, Mutex};

use dlpack_gpu_tests::driver::Functions;
use dlpack_gpu_tests::gate::Gate;
use dlpack_gpu_tests::hip::{HipFunctions, hip};
use dlpack_gpu_tests::session::{alone, check, session, skipped};
use dlpack_gpu_tests::simulator::Simulator;
use dlpack_traits::backend::testing::{self, Hooks, conform};
use dlpack_traits::backend::{Backend, Cuda, Rocm, StreamHandle, WorkStream};
use dlpack_traits::{Device, Error};

/// Streams that a test made and has not destroyed.
type Streams = Arc<Mutex<Vec<usize>>>;

/// A stream of a test, which is on the list.
fn listed<B: Backend>(
    streams: &Streams,
    device: Device,
    stream: usize,
) -> Result<WorkStream<B>, Error> {
    streams.lock().expect("no panic").push(stream);
    // SAFETY: 1. It is destroyed by `close`, or at the end of the test.
    unsafe { WorkStream::borrow(device, StreamHandle::from_number(stream)) }
}

/// Whether the list had the stream.
fn unlist(streams: &Streams, stream: usize) -> bool {
    let mut streams = streams.lock().expect("no panic");
    let before = streams.len();
    streams.retain(|&other| other != stream);
    streams.len() < before
}

struct OfCuda {
    driver: &'static Functions,
    context: usize,
    streams: Streams,
}

impl OfCuda {
    fn destroy(&self, stream: usize) {
        // SAFETY: it was on the list.
        check(unsafe { (self.driver.stream_destroy)(stream) });
    }
}

impl Hooks<Cuda> for OfCuda {
    fn stream(&self, device: Device, _: usize) -> Result<WorkStream<Cuda>, Error> {
        let mut stream = 0;
        // SAFETY: the session keeps it alive.
        check(unsafe { (self.driver.context_set)(self.context) });
        // SAFETY: the answer has a place, and a context is current.
        check(unsafe { (self.driver.stream_create)(&raw mut stream, 1) });
        listed(&self.streams, device, stream)
    }

    fn gate(&self, stream: &WorkStream<Cuda>) -> Result<testing::Gate, Error> {
        let (gate, stream) = (Gate::closed(), stream.handle().number());
        // SAFETY: the session keeps it alive.
        check(unsafe { (self.driver.context_set)(self.context) });
        // SAFETY: the argument is for this one call.
        check(unsafe { (self.driver.launch_host)(stream, Some(Gate::pass), gate.argument()) });
        Ok(Box::new(move || gate.open()))
    }

    fn close(&self, stream: WorkStream<Cuda>) {
        assert!(unlist(&self.streams, stream.handle().number()), "a stream of the list");
        self.destroy(stream.handle().number());
    }

    fn capture(&self, stream: &WorkStream<Cuda>) -> Result<testing::Gate, Error> {
        let (driver, stream) = (self.driver, stream.handle().number());
        // SAFETY: a stream of the list, and the mode in which other threads may call anything.
        check(unsafe { (driver.begin_capture)(stream, 2) });
        Ok(Box::new(move || {
            let mut graph = 0;
            // SAFETY: the capture was begun above.
            check(unsafe { (driver.end_capture)(stream, &raw mut graph) });
            // SAFETY: the graph is new.
            check(unsafe { (driver.graph_destroy)(graph) });
        }))
    }
}

#[test]
fn cuda_keeps_its_obligations() {
    let Some(session) = session() else { return };
    let streams = Streams::default();
    let hooks = |streams| OfCuda { driver: session.driver, context: session.context(), streams };
    let report = conform::<Cuda>(Device::cuda(0), hooks(Arc::clone(&streams)));
    println!("{report}");
    assert!(report.is_pass(), "{report}");
    let not_run: Vec<_> = report.not_run.iter().map(|check| check.0).collect();
    let hooks = hooks(Streams::default());
    if session.simulator.is_some() {
        assert_eq!(not_run, ["work that fails", "shutdown"]);
        session.keep_contexts(2);
    }
    streams.lock().expect("no panic").drain(..).for_each(|stream| hooks.destroy(stream));
}

struct OfRocm {
    hip: &'static HipFunctions,
    streams: Streams,
}

impl Hooks<Rocm> for OfRocm {
    fn stream(&self, device: Device, _: usize) -> Result<WorkStream<Rocm>, Error> {
        let mut stream = 0;
        // SAFETY: the answer has a place.
        check(unsafe { (self.hip.stream_create)(&raw mut stream, 1) });
        listed(&self.streams, device, stream)
    }

    fn gate(&self, stream: &WorkStream<Rocm>) -> Result<testing::Gate, Error> {
        let (gate, stream) = (Gate::closed(), stream.handle().number());
        // SAFETY: the argument is for this one call.
        check(unsafe { (self.hip.launch_host)(stream, Some(Gate::pass), gate.argument()) });
        Ok(Box::new(move || gate.open()))
    }

    fn close(&self, stream: WorkStream<Rocm>) {
        assert!(unlist(&self.streams, stream.handle().number()), "a stream of the list");
        // SAFETY: it was on the list.
        check(unsafe { (self.hip.stream_destroy)(stream.handle().number()) });
    }
}

#[test]
fn rocm_keeps_its_obligations() {
    let _alone = alone();
    let Some((library, hip)) = hip() else {
        return skipped("rocm", "the loader finds no libamdhip64").unwrap_or_default();
    };
    let streams = Streams::default();
    let hooks = OfRocm { hip, streams: Arc::clone(&streams) };
    let report = conform::<Rocm>(Device::rocm(0), hooks);
    println!("{report}");
    assert!(report.is_pass(), "{report}");
    if Simulator::of(library).is_some() {
        let not_run: Vec<_> = report.not_run.iter().map(|check| check.0).collect();
        assert_eq!(not_run, ["capture", "work that fails", "shutdown"]);
    }
    for stream in streams.lock().expect("no panic").drain(..) {
        // SAFETY: it was on the list.
        check(unsafe { (hip.stream_destroy)(stream) });
    }
}
