//! The conformance kit, on the two queues of a device.

use dlpack_traits::backend::testing::{Gate, Hooks, conform};
use dlpack_traits::backend::{Vulkan, WorkStream};
use dlpack_traits::{Device, Error};
use dlpack_vulkan_tests::program::{Program, program};

struct OfVulkan(&'static Program);

impl Hooks<Vulkan> for OfVulkan {
    fn stream(&self, _: Device, index: usize) -> Result<WorkStream<Vulkan>, Error> {
        Ok(self.0.queue(index))
    }

    fn gate(&self, stream: &WorkStream<Vulkan>) -> Result<Gate, Error> {
        let index = usize::from(stream.handle() == self.0.queue(1).handle());
        let gate = self.0.hold(index);
        Ok(Box::new(move || gate.open()))
    }
}

#[test]
fn vulkan_keeps_its_obligations() {
    let Some(program) = program() else { return };
    // The threads of the kit use it; this test is alone in its program.
    let program: &Program = Box::leak(Box::new(program));
    let report = conform::<Vulkan>(program.device, OfVulkan(program));
    println!("{report}");
    assert!(report.is_pass(), "{report}");
    for check in ["events", "free after a closed stream", "wait for the device"] {
        assert!(report.passed.contains(&check), "{report}");
    }
}
