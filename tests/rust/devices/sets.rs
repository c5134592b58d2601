//! Several backends as one type.

use dlpack_tests::foreign::{Farewell, ImportedStorage};
use new_device::Npu;
use new_device::runtime::{self, Address, Stream};
use tensors::backend::{Backends, Cpu, Prototype, WorkStream};
use tensors::ffi::{kDLExtDev, kDLOpenCL};
use tensors::{DataType, Device, Dims, Error, Flags};

use super::npu::{NPU, Session};
use super::variant::Variant;

type Both = (Cpu, Npu);
/// It allocates nothing.
type Bare = Variant<true, false, false>;

fn prototype(device: Device) -> Prototype<'static> {
    Prototype::new(DataType::F32, Dims::borrowed(&[2, 3]), device).unwrap()
}

#[test]
fn each_device_is_served_by_its_backend() {
    let _session = Session;
    for device in [Device::CPU, NPU, Device::new(kDLExtDev, 1)] {
        assert!(Both::serves(device));
        let tensor = Both::allocate(&prototype(device)).unwrap();
        assert_eq!((tensor.device(), tensor.dtype()), (device, DataType::F32));
        assert_eq!((tensor.shape(), tensor.strides()), (&[2, 3][..], &[3, 1][..]));
        assert_eq!(tensor.flags(), Flags::NONE, "the consumer may write it");
        assert_eq!(tensor.data_ptr().addr() % 64, 0);
        ImportedStorage::from(tensor).delete_elsewhere(Farewell::Plain);
    }
}

#[test]
fn allocations_are_zeroed_and_for_the_current_stream() {
    let _session = Session;
    let host = ImportedStorage::from(Both::allocate(&prototype(Device::CPU)).unwrap());
    assert_eq!(host.elements::<f32>(), [0.0; 6]);
    host.write(|_: f32| 1.0);
    host.delete(Farewell::Plain);

    let stream = Stream::new(0).unwrap();
    let tensor = runtime::with_stream(&stream, || Both::allocate(&prototype(NPU))).unwrap();
    let address = Address::from_ptr(tensor.data_ptr().cast_mut().cast());
    let mut elements = [1_u8; 24];
    // SAFETY: 1. The array is there until the stream has been waited for.
    unsafe { stream.copy_to_host((address, 0), elements.as_mut_ptr(), 24) };
    // The free is enqueued behind the copy.
    drop(tensor);
    assert_eq!(stream.synchronize(), Ok(()));
    assert_eq!(elements, [0; 24]);
}

#[test]
fn a_set_returns_the_current_stream_of_each_device() {
    let _session = Session;
    assert!(Both::current_work_stream(Device::CPU).unwrap().is_null());
    let stream = Stream::new(0).unwrap();
    let number = runtime::with_stream(&stream, || {
        // As a number, because pointers made of numbers are not Miri's.
        WorkStream::<Npu>::current(NPU).unwrap().handle().number()
    });
    assert_eq!(number, stream.handle());
    if !cfg!(miri) {
        let raw = runtime::with_stream(&stream, || Both::current_work_stream(NPU)).unwrap();
        assert_eq!(raw.addr(), stream.handle());
    }
}

#[test]
fn a_device_without_a_backend_is_an_error() {
    let opencl = Device::new(kDLOpenCL, 0);
    assert!(!Both::serves(opencl));
    let error = Error::NoBackend { device: opencl };
    assert_eq!(Both::allocate(&prototype(opencl)).unwrap_err(), error);
    assert_eq!(Both::current_work_stream(opencl).unwrap_err(), error);
    assert_eq!(Both::pointer_attributes(core::ptr::null(), opencl).unwrap_err(), error);
    assert_eq!(
        error.to_string(),
        "no enabled backend supports opencl:0: none is listed, or the device does not exist"
    );
    // A device of a supported type that does not exist.
    for id in [-1, 2] {
        let device = Device::new(kDLExtDev, id);
        assert!(Both::serves(device));
        assert_eq!(Both::allocate(&prototype(device)).unwrap_err(), Error::NoBackend { device });
    }
    let device = Device::new(tensors::ffi::kDLCPU, 1);
    assert_eq!(Both::allocate(&prototype(device)).unwrap_err(), Error::NoBackend { device });
}

/// The first that serves a kind of device answers, whatever the answer.
#[test]
fn the_first_matching_backend_is_used() {
    let _session = Session;
    let error = Error::Unsupported { device: NPU, what: "allocator" };
    assert_eq!(<(Bare, Npu)>::allocate(&prototype(NPU)).unwrap_err(), error);
    assert!(<(Npu, Bare)>::allocate(&prototype(NPU)).is_ok());
    // Sets may hold sets.
    assert!(<(Cpu, (Cpu, (Npu,)))>::allocate(&prototype(NPU)).is_ok());
    assert_eq!(error.to_string(), "the backend of ext_dev:0 has no allocator");
}

/// No elements are an allocation too.
#[test]
fn empty_buffers_are_allocated_and_freed() {
    let _session = Session;
    for device in [Device::CPU, NPU] {
        let nothing = Prototype::new(DataType::F32, Dims::borrowed(&[0, 3]), device).unwrap();
        let tensor = Both::allocate(&nothing).unwrap();
        assert_eq!(tensor.shape(), [0, 3]);
        // The header asks for NULL.
        assert!(tensor.data_ptr().is_null());
    }
    let too_much = Prototype::new(DataType::F64, Dims::borrowed(&[1 << 40]), NPU).unwrap();
    let error = Both::allocate(&too_much).unwrap_err();
    assert_eq!(error, Error::OutOfMemory { bytes: 1 << 43 });
}

/// A foreign struct may have a wrong device; the runtime reports the right one.
#[test]
fn memory_is_classified_by_its_runtime() {
    let _session = Session;
    let tensor = Both::allocate(&prototype(Device::new(kDLExtDev, 1))).unwrap();
    let data = tensor.data_ptr().cast();
    let known = Both::pointer_attributes(data, NPU).unwrap();
    assert_eq!((known.device, known.host_accessible), (Device::new(kDLExtDev, 1), false));
    let host = [0_u8; 4];
    let error = Both::pointer_attributes(host.as_ptr().cast(), NPU).unwrap_err();
    assert_eq!(error, Error::NoBackend { device: NPU });
    let error = <(Bare,)>::pointer_attributes(data, NPU).unwrap_err();
    assert_eq!(error, Error::Unsupported { device: NPU, what: "pointer attributes" });
}
