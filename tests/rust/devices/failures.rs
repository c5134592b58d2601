//! A device that fails, or whose backend panics: an error, no early free, no
//! unwinding into C.

use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

use dlpack_tests::foreign::{Farewell, ImportedStorage};
use new_device::runtime::{BAD_ADDRESS, Stream};
use tensors::backend::DeviceBuffer;
use tensors::{DLPackExport, DataType, Error};

use super::npu::{NPU, Session, address, stream, vector};
use super::variant::{Fault, Variant};

type Failing = Variant<true, false>;

fn buffer() -> DeviceBuffer<Failing> {
    DeviceBuffer::zeroed_on(stream(), DataType::F32, 4).unwrap()
}

/// Returns whether the memory exists after all work of its own stream.
fn is_there(stream: &Stream, address: new_device::runtime::Address) -> bool {
    stream.synchronize().unwrap();
    let probe = Stream::new(0).unwrap();
    probe.fill(address, 0..4, 0.0);
    match probe.synchronize() {
        Ok(()) => true,
        Err(code) => {
            assert_eq!(code, BAD_ADDRESS);
            false
        }
    }
}

#[test]
fn a_sync_for_that_fails_is_an_error() {
    let _session = Session;
    let consumer = stream::<Failing>();
    for fault in [Fault::RecordFails, Fault::RecordPanics] {
        let buffer = buffer();
        let (ours, address) = (buffer.stream().stream().clone(), address(&buffer));
        ours.faults.set(fault);
        let tensor = vector(buffer, 4);
        let export = catch_unwind(AssertUnwindSafe(|| tensor.to_dlpack_on(consumer.as_arg())));
        let as_told = match export {
            Ok(Err(Error::Device { code: 77, .. })) => fault == Fault::RecordFails,
            Err(_) => fault == Fault::RecordPanics,
            Ok(_) => false,
        };
        assert!(as_told, "{fault:?}");
        assert!(is_there(&ours.stream, address));
        ours.faults.set(Fault::None);
        assert!(tensor.to_dlpack_on(consumer.as_arg()).is_ok(), "it can be tried again");
        drop(tensor);
        assert!(!is_there(&ours.stream, address), "freed");
    }
}

/// Where the free cannot be ordered after the uses, the memory stays.
#[test]
fn a_free_that_fails_leaks() {
    let _session = Session;
    for fault in [Fault::WaitFails, Fault::FreePanics] {
        let consumer = stream::<Failing>();
        let buffer = buffer();
        let (ours, address) = (buffer.stream().stream().clone(), address(&buffer));
        let tensor = vector(buffer, 4).into_dlpack_on(consumer.as_arg()).unwrap();
        ours.faults.set(fault);
        // A panic there does not leave the deleter.
        ImportedStorage::from(tensor).delete_elsewhere(Farewell::Plain);
        assert!(is_there(&ours.stream, address), "{fault:?}");
    }
}

/// Without consumers there is nothing to order, so nothing can fail.
#[test]
fn a_free_without_consumers() {
    let _session = Session;
    let buffer = buffer();
    let (ours, address) = (buffer.stream().stream().clone(), address(&buffer));
    ours.faults.set(Fault::WaitFails);
    drop(buffer);
    assert!(!is_there(&ours.stream, address));
}

#[test]
fn no_such_device_and_no_memory() {
    let _session = Session;
    let elsewhere = tensors::Device::new(tensors::ffi::kDLExtDev, 2);
    let error = DeviceBuffer::<Failing>::zeroed(elsewhere, DataType::F32, 4).unwrap_err();
    assert_eq!(error, Error::NoBackend { device: elsewhere });
    let error = DeviceBuffer::<Failing>::zeroed(NPU, DataType::F32, 1 << 40).unwrap_err();
    assert_eq!(error, Error::OutOfMemory { bytes: 1 << 42 });
    let error = DeviceBuffer::<Failing>::zeroed(NPU, DataType::F32, usize::MAX).unwrap_err();
    assert_eq!(error, Error::SizeOverflow);
}
