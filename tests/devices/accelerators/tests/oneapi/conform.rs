//! The conformance kit. No call of DPCTL holds a queue back, so a long copy does.

use std::ptr::with_exposed_provenance_mut;
use std::sync::PoisonError;

use dlpack_accelerator_tests::conform::assert_lacks;
use dlpack_accelerator_tests::sycl::{ALONE, Sycl, sycl};
use dlpack_traits::backend::testing::{Gate, Hooks, conform};
use dlpack_traits::backend::{OneApi, WorkStream};
use dlpack_traits::{Device, Error};

/// Bytes; a copy takes some hundredths of a second.
const MANY: usize = 64 << 20;

struct OfOneApi {
    sycl: &'static Sycl,
    /// Memory for work that takes long.
    spare: [usize; 2],
}

impl Hooks<OneApi> for OfOneApi {
    fn stream(&self, _: Device, _: usize) -> Result<WorkStream<OneApi>, Error> {
        let queue = self.sycl.queue(true);
        let stream = self.sycl.stream(queue);
        // SAFETY: the object of the test, of which the stream has a copy.
        unsafe { (self.sycl.calls.DPCTLQueue_Delete)(queue) };
        Ok(stream)
    }

    /// The queue copies for some tenths of a second.
    fn gate(&self, stream: &WorkStream<OneApi>) -> Result<Gate, Error> {
        let [from, to] = self.spare.map(with_exposed_provenance_mut);
        for _ in 0..8 {
            self.sycl.copy(stream.handle().as_ptr(), from, to, MANY);
        }
        Ok(Box::new(|| ()))
    }

    fn holds(&self) -> bool {
        false
    }
}

#[test]
fn oneapi_keeps_its_obligations() {
    let Some(sycl) = sycl() else { return };
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let queue = sycl.queue(true);
    let spare = [(); 2].map(|()| sycl.malloc_device(queue, MANY).expose_provenance());
    let report = conform::<OneApi>(sycl.device(), OfOneApi { sycl, spare });
    println!("{report}");
    assert!(report.is_pass(), "{report}");
    assert_lacks(&report);
}
