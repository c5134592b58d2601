//! The conformance kit, with queues of both kinds.

use std::ptr::with_exposed_provenance_mut;

use dlpack_accelerator_tests::cl::{Cl, check, devices};
use dlpack_accelerator_tests::conform::assert_lacks;
use dlpack_traits::backend::testing::{Gate, Hooks, conform};
use dlpack_traits::backend::{OpenCl, WorkStream};
use dlpack_traits::{Device, Error};

struct OfOpenCl {
    cl: Cl,
    in_order: bool,
}

impl Hooks<OpenCl> for OfOpenCl {
    fn stream(&self, _: Device, _: usize) -> Result<WorkStream<OpenCl>, Error> {
        Ok(self.cl.stream(self.cl.queue(self.in_order)))
    }

    fn gate(&self, stream: &WorkStream<OpenCl>) -> Result<Gate, Error> {
        if self.cl.context != self.cl.context_of(stream.handle().as_ptr()) {
            let (device, what) = (stream.device(), "gate in the context of the backend");
            return Err(Error::Unsupported { device, what });
        }
        let gate = self.cl.gate(stream.handle().as_ptr()).expose_provenance();
        let set = self.cl.calls.clSetUserEventStatus;
        // SAFETY: an event of the user's, that was not set.
        Ok(Box::new(move || check(unsafe { set(with_exposed_provenance_mut(gate), 0) })))
    }

    fn close(&self, stream: WorkStream<OpenCl>) {
        // SAFETY: the reference of the test, which does not use the queue any more.
        check(unsafe { (self.cl.calls.clReleaseCommandQueue)(stream.handle().as_ptr()) });
    }
}

#[test]
fn opencl_keeps_its_obligations() {
    for in_order in [true, false] {
        for cl in devices() {
            let device = cl.device;
            let report = conform::<OpenCl>(device, OfOpenCl { cl, in_order });
            println!("{report}");
            assert!(report.is_pass(), "{report}");
            assert_lacks(&report);
        }
    }
}
