//! The current context, and GPUs with fewer features.

#![cfg(target_os = "linux")]

use std::thread;

use dlpack_gpu_tests::session::{check, device, session};
use dlpack_traits::backend::{Backends, Cuda, DeviceBuffer};
use dlpack_traits::{DataType, Device, Error};

/// A thread without a context can query the device of an address, also where the driver
/// requires a context for that.
#[test]
fn attributes_need_no_current_context() -> Result<(), Error> {
    let Some(session) = session() else { return Ok(()) };
    if let Some(simulator) = session.simulator {
        simulator.set_attributes_need_context(true);
    }
    for made in [Device::cuda(0), Device::CUDA_HOST, Device::CUDA_MANAGED] {
        let buffer = DeviceBuffer::<Cuda>::zeroed(made, DataType::U8, 4)?;
        let (address, driver) = (buffer.as_ptr().expose_provenance(), session.driver);
        let found = thread::spawn(move || {
            let address = core::ptr::with_exposed_provenance::<core::ffi::c_void>(address);
            // The hint names another GPU, or one that does not exist.
            let found =
                [made, Device::cuda(99)].map(|hint| Cuda::pointer_attributes(address, hint));
            let mut current = 1;
            // SAFETY: the answer has a place.
            check(unsafe { (driver.context_get)(&raw mut current) });
            assert_eq!(current, 0, "a context was left current");
            found
        });
        for found in found.join().expect("no panic") {
            assert_eq!(found.map(|found| found.device), Ok(made));
        }
    }
    if let Some(simulator) = session.simulator {
        simulator.set_attributes_need_context(false);
    }
    Ok(())
}

/// Another library resets the GPU. The context that was retained before is gone, and the
/// next call retains the one that is made then.
#[test]
fn a_context_that_was_reset_is_retained_again() {
    let Some(session) = session() else { return };
    let Some(simulator) = session.only_simulated() else { return };
    simulator.reset_context(0);
    let made =
        thread::spawn(|| DeviceBuffer::<Cuda>::zeroed(Device::cuda(0), DataType::U8, 4).map(drop));
    assert_eq!(made.join().expect("no panic"), Ok(()));
    let mut context = 0;
    // The context that the session has, and releases at its end.
    // SAFETY: the output place is valid.
    check(unsafe { (session.driver.context_retain)(&raw mut context, device(session.driver, 0)) });
    // The reset destroyed the stream on which the backend frees memory during work: it makes
    // another one.
    session.free_during_work();
}

/// A GPU without memory pools, as in a virtual machine with a share of one, has memory all
/// the same. It is freed after a wait of the host.
#[test]
fn a_gpu_without_memory_pools_has_memory() -> Result<(), Error> {
    let Some(session) = session() else { return Ok(()) };
    let Some(simulator) = session.only_simulated() else { return Ok(()) };
    let gpu = Device::cuda(1);
    simulator.set_memory_pools(1, false);
    session.keep_contexts(2);
    let before = simulator.calls("cuMemFree_v2");
    let buffer = DeviceBuffer::<Cuda>::from_slice(gpu, &[7_u32; 16])?;
    let zeros = DeviceBuffer::<Cuda>::zeroed(gpu, DataType::U32, 16)?;
    assert_eq!(buffer.to_vec::<u32>()?, [7; 16]);
    assert_eq!(zeros.to_vec::<u32>()?, [0; 16]);
    drop((buffer, zeros));
    assert_eq!(simulator.calls("cuMemFree_v2"), before + 2);
    Ok(())
}
