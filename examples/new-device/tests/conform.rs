//! The conformance kit of `dlpack-traits`, on this device.

use dlpack_traits::backend::WorkStream;
use dlpack_traits::backend::testing::{Gate, Hooks, conform};
use dlpack_traits::ffi::kDLExtDev;
use dlpack_traits::{Device, Error};
use new_device::Npu;
use new_device::runtime::{self, Event, Stream};

/// Two functions are needed: a stream, and a gate on it.
struct OfNpu;

impl Hooks<Npu> for OfNpu {
    fn stream(&self, device: Device, _: usize) -> Result<WorkStream<Npu>, Error> {
        let stream = Stream::new(0).map_err(|_| Error::NoBackend { device })?;
        runtime::with_stream(&stream, || WorkStream::current(device))
    }

    fn gate(&self, stream: &WorkStream<Npu>) -> Result<Gate, Error> {
        let gate = Event::of_host();
        stream.stream().wait(&gate);
        Ok(Box::new(move || gate.set()))
    }
}

#[test]
fn the_backend_keeps_its_obligations() {
    let report = conform::<Npu>(Device::new(kDLExtDev, 0), OfNpu);
    assert!(report.is_pass(), "{report}");
    let not_run: Vec<_> = report.not_run.iter().map(|check| check.0).collect();
    let device = ["wait for the device", "wait for closed streams"];
    let hooks = ["capture", "work that fails", "shutdown"];
    assert_eq!(not_run, [&device[..], &hooks].concat(), "{report}");
    if cfg!(miri) {
        runtime::shutdown();
    }
}
