//! A backend of five functions: what it does not implement is an error that names it.

use core::ffi::c_void;
use core::ptr::{self, NonNull};

use tensors::backend::{
    Backend, Backends, Cpu, DeviceBuffer, MemoryRange, MemoryRef, MemoryType, NoStream, Prototype,
    StreamHandle, WorkStream,
};
use tensors::{DataType, Device, Dims, Error, ffi};

const DEVICE: Device = Device::new(ffi::kDLExtDev, 0);

struct Five;

// SAFETY: 1. `NoStream` can be used with any handle and device. 2. to 8. The defaults.
unsafe impl Backend for Five {
    const MEMORY_TYPES: &'static [MemoryType] = &[MemoryType::with_handles(ffi::kDLExtDev)];
    type Stream = NoStream;

    fn current_stream(device: Device) -> Result<WorkStream<Self>, Error> {
        // SAFETY: 1. and 2. `NoStream` can be used with any handle and device.
        Ok(unsafe { WorkStream::new(device, StreamHandle::NULL, NoStream) })
    }

    unsafe fn borrow_stream(_: Device, _: StreamHandle) -> Result<NoStream, Error> {
        Ok(NoStream)
    }
}

fn unsupported<T>(outcome: Result<T, Error>, device: Device, what: &'static str) {
    assert_eq!(outcome.map(drop), Err(Error::Unsupported { device, what }));
}

#[test]
fn a_backend_without_an_allocator_does_not_allocate() {
    unsupported(DeviceBuffer::<Five>::zeroed(DEVICE, DataType::F32, 4), DEVICE, "allocator");
    unsupported(DeviceBuffer::<Five>::from_slice(DEVICE, &[1_i32]), DEVICE, "allocator");
    let prototype = Prototype::new(DataType::F32, Dims::borrowed(&[2, 3]), DEVICE).unwrap();
    unsupported(<(Cpu, Five)>::allocate(&prototype), DEVICE, "allocator");
    let stream = WorkStream::<Five>::current(DEVICE).unwrap();
    let memory = MemoryRange::new(NonNull::dangling(), 4);
    // SAFETY: none is needed: the default frees nothing.
    unsupported(unsafe { Five::deallocate(&stream, memory) }, DEVICE, "allocator");
}

#[test]
fn a_backend_without_copies_copies_nothing() {
    let stream = WorkStream::<Five>::current(DEVICE).unwrap();
    let ours = MemoryRef { device: DEVICE, data: ptr::null_mut(), byte_offset: 0 };
    let host = MemoryRef { device: Device::CPU, ..ours };
    for (from, to, what) in [(ours, host, "copy to the host"), (host, ours, "copy")] {
        // SAFETY: none is needed: the default accesses neither place.
        unsupported(unsafe { Five::copy(&stream, from, to, 4) }, DEVICE, what);
    }
}

#[test]
fn a_backend_without_attributes_knows_no_address() {
    let data = ptr::without_provenance::<c_void>(64);
    let what = "pointer attributes";
    unsupported(<(Cpu, Five)>::pointer_attributes(data, DEVICE), DEVICE, what);
    unsupported(<(Cpu, Five)>::pointer_attributes(data, Device::CPU), Device::CPU, what);
}
