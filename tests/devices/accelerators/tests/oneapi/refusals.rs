//! Memory that is not USM of the default context is rejected without a C++ exception.

use std::ffi::c_void;
use std::ptr;

use dlpack_accelerator_tests::sycl::sycl;
use dlpack_traits::backend::{DeviceBuffer, OneApi, StreamHandle, UsmKind, WorkStream};
use dlpack_traits::{DataType, Device, Error, ffi};

#[test]
fn memory_not_allocated_by_sycl_is_refused() {
    let Some(sycl) = sycl() else { return };
    let (boxed, local) = (Box::new([0_u8; 256]), 0_u64);
    let device = sycl.device();
    for data in [
        ptr::null(),
        boxed.as_ptr().cast::<c_void>(),
        (&raw const local).cast(),
        ptr::without_provenance(16),
        ptr::without_provenance(usize::MAX),
    ] {
        assert_eq!(OneApi::recognize(data, device), Err(Error::NoBackend { device }));
        // SAFETY: 1. The default context.
        let exported = unsafe { OneApi::exported(data, sycl.context) };
        assert!(matches!(exported, Err(Error::NoBackend { .. })), "{exported:?}");
    }
}

#[test]
fn missing_devices_are_refused() {
    let Some(sycl) = sycl() else { return };
    let queue = sycl.queue(true);
    let data = sycl.malloc_device(queue, 64);
    let count = i32::try_from(sycl.roots.len()).expect("few devices");
    for index in [-1, count, 99, i32::MAX, i32::MIN] {
        let device = Device::new(ffi::kDLOneAPI, index);
        let refused = Error::NoBackend { device };
        assert_eq!(OneApi::recognize(data, device), Err(refused));
        assert_eq!(WorkStream::<OneApi>::current(device).map(drop), Err(refused));
        let zeroed = DeviceBuffer::<OneApi>::zeroed(device, DataType::U8, 1);
        assert_eq!(zeroed.map(drop), Err(refused));
    }
    let device = Device::cuda(0);
    assert_eq!(OneApi::recognize(data, device), Err(Error::NoBackend { device }));
    sycl.free(queue, data);
}

/// A context that is not the default one, of the same device.
#[test]
fn memory_of_another_context_is_refused() {
    let Some(sycl) = sycl() else { return };
    let device = sycl.device();
    // SAFETY: a device.
    let fresh = unsafe { (sycl.calls.DPCTLContext_Create)(sycl.raw_device(), 0) };
    let queue = sycl.queue_in(fresh, sycl.raw_device(), 2);
    let data = sycl.malloc_device(queue, 64);
    // SAFETY: 1. A context that is alive.
    let exported = unsafe { OneApi::exported(data, fresh) };
    assert!(matches!(exported, Err(Error::Unsupported { .. })), "{exported:?}");
    assert_eq!(OneApi::recognize(data, device), Err(Error::NoBackend { device }));
    // SAFETY: 1. A queue that is alive.
    let stream = unsafe { OneApi::work_stream(device, StreamHandle::from_ptr(queue)) };
    assert!(matches!(stream, Err(Error::Unsupported { .. })), "{stream:?}");
    sycl.free(queue, data);
}

/// A part of a device, in a context of its own as the runtime of the processor
/// wants it. (In the default context only Level Zero has parts.)
#[test]
fn memory_of_a_sub_device_is_refused() {
    let Some(sycl) = sycl() else { return };
    // SAFETY: a device, and a count.
    let parts = unsafe { (sycl.calls.DPCTLDevice_CreateSubDevicesEqually)(sycl.raw_device(), 1) };
    assert!(!parts.is_null(), "the device has no parts");
    // SAFETY: a vector that is not empty.
    let part = unsafe { (sycl.calls.DPCTLDeviceVector_GetAt)(parts, 0) };
    // SAFETY: a device.
    let context = unsafe { (sycl.calls.DPCTLContext_Create)(part, 0) };
    let queue = sycl.queue_in(context, part, 2);
    let data = sycl.malloc_device(queue, 64);
    let device = sycl.device();
    // SAFETY: 1. A context that is alive.
    let exported = unsafe { OneApi::exported(data, context) };
    assert!(matches!(exported, Err(Error::Unsupported { .. })), "{exported:?}");
    assert_eq!(OneApi::recognize(data, device), Err(Error::NoBackend { device }));
    sycl.free(queue, data);
}

/// Devices of OpenCL that have no USM: asking them would throw.
#[test]
fn devices_without_usm_are_refused() {
    let Some(sycl) = sycl() else { return };
    for (index, raw) in sycl.roots.iter().enumerate() {
        // SAFETY: a device.
        if unsafe { (sycl.calls.DPCTLDevice_HasAspect)(*raw, 12) } {
            continue;
        }
        let device = Device::new(ffi::kDLOneAPI, i32::try_from(index).expect("few devices"));
        let local = 0_u64;
        let found = OneApi::recognize((&raw const local).cast(), device);
        assert!(matches!(found, Err(Error::Unsupported { .. })), "{found:?}");
        let stream = WorkStream::<OneApi>::current(device).expect("a queue");
        for kind in [UsmKind::Device, UsmKind::Shared, UsmKind::Host] {
            let zeroed = OneApi::zeroed_usm(kind, stream.clone(), DataType::U8, 1).map(drop);
            assert!(matches!(zeroed, Err(Error::Unsupported { .. })), "{zeroed:?}");
        }
    }
}

#[test]
fn impossible_sizes_are_refused() {
    let Some(sycl) = sycl() else { return };
    for len in [usize::MAX, usize::MAX / 2, usize::MAX / 8] {
        let zeroed = DeviceBuffer::<OneApi>::zeroed(sycl.device(), DataType::U8, len).map(drop);
        assert!(
            matches!(zeroed, Err(Error::OutOfMemory { .. } | Error::SizeOverflow)),
            "{zeroed:?}"
        );
    }
}
