//! Imported tensors whose pointer is only available for a stream.

use tensors::backend::{DeviceBuffer, DeviceTensor, FreeOrder};
use tensors::{DLPackExport, Device, Error, ImportedTensor, ffi};

use super::order::{DEVICE, FAILS, Log, NOT_FOLLOWED, buffer, calls, consumer, named, named_on};

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Empty<const SYNC: bool> {
    data: DeviceBuffer<Log<SYNC>>,
    shape: [usize; 1],
}

/// A tensor whose release is logged as "fence 1", "free".
fn imported<const SYNC: bool>() -> ImportedTensor {
    let data = buffer::<SYNC>(1, FreeOrder::StreamOrdered);
    let exported = Empty { data, shape: [0] }.into_dlpack_on(consumer(1));
    let tensor = exported.unwrap().import().unwrap();
    calls();
    tensor
}

fn tensor<const SYNC: bool>(freed: FreeOrder) -> DeviceTensor<Log<SYNC>> {
    // SAFETY: 1. and 2. No work is ever enqueued.
    let made = unsafe { DeviceTensor::new(imported::<SYNC>(), named(1), freed) }.unwrap();
    assert_eq!(calls(), ["fence 1"], "later work waits for the producer's");
    made
}

#[test]
fn a_pointer_on_the_streams_own_needs_no_wait() {
    let tensor = tensor::<false>(FreeOrder::StreamOrdered);
    assert!(tensor.as_ptr_on(tensor.stream()).is_ok());
    assert_eq!(calls(), ["fence 1"]);
    assert_eq!((tensor.shape(), tensor.numel(), tensor.device()), (&[0][..], 0, DEVICE));
    drop(tensor);
    assert_eq!(calls(), ["fence 1", "fence 1", "free"]);
}

#[test]
fn another_stream_waits_and_is_waited_for() {
    let tensor = tensor::<false>(FreeOrder::StreamOrdered);
    assert!(tensor.as_ptr_on(&named(2)).is_ok());
    assert_eq!(calls(), ["record 1", "2 waits for 1"]);
    assert!(tensor.as_mut_ptr_on(&named(3)).is_ok());
    assert_eq!(calls(), ["record 1", "3 waits for 1"]);
    drop(tensor);
    let before = ["record 3", "1 waits for 3", "record 2", "1 waits for 2", "fence 1"];
    assert_eq!(calls()[..5], before);
}

#[test]
fn a_producer_that_frees_at_once_is_told_after_a_wait() {
    let tensor = tensor::<false>(FreeOrder::Immediate);
    drop(tensor);
    assert_eq!(calls(), ["fence 1", "synchronize 1", "fence 1", "free"]);
}

/// Neither direction of the order is possible among contexts; the release cannot wait for
/// `NOT_FOLLOWED`.
#[test]
fn a_stream_that_cannot_be_ordered_gets_no_pointer() {
    let tensor = tensor::<false>(FreeOrder::StreamOrdered);
    for stream in [12, NOT_FOLLOWED] {
        let refused = tensor.as_ptr_on(&named(stream));
        assert!(matches!(refused, Err(Error::Unsupported { .. })), "{refused:?}");
        assert_eq!(calls(), [""; 0]);
    }
    drop(tensor);
    assert_eq!(calls(), ["fence 1", "fence 1", "free"]);
}

/// The release is not ordered after the work on the other stream, so there is none.
#[test]
#[cfg_attr(miri, ignore = "it leaks, by its rule, and Miri reports every leak")]
fn a_release_that_cannot_be_ordered_leaks() {
    if dlpack_tests::skips_under_a_sanitizer("a leak by its rule") {
        return;
    }
    let tensor = tensor::<false>(FreeOrder::StreamOrdered);
    assert!(tensor.as_ptr_on(&named(FAILS)).is_ok());
    calls();
    drop(tensor);
    assert_eq!(calls(), [""; 0], "not freed");
}

#[test]
fn a_stream_of_another_device_is_refused() {
    let other = Device::new(ffi::kDLExtDev, 1);
    let stream = named_on::<false>(other, 1);
    // SAFETY: 1. and 2. No work is ever enqueued.
    let refused = unsafe { DeviceTensor::new(imported::<false>(), stream, FreeOrder::Immediate) };
    let mismatch = Error::DeviceMismatch { device: other, storage: DEVICE };
    assert_eq!(refused.map(drop), Err(mismatch));
    calls();
    let tensor = tensor::<false>(FreeOrder::StreamOrdered);
    let refused = tensor.as_ptr_on(&named_on(other, 2));
    assert_eq!(refused, Err(mismatch));
}
