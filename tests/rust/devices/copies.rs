//! Tensors of a device, copied to the host.

use core::ptr::NonNull;
use std::thread;

use dlpack_tests::counted::Owner;
use dlpack_tests::foreign::{Farewell, ImportedStorage};
use new_device::Npu;
use new_device::runtime::{BAD_ADDRESS, Event};
use tensors::backend::{Cpu, DeviceBuffer, FreeOrder, MemoryRange, copy_to_host, device_error};
use tensors::{DLPackExport, DataRef, DataType, Device, Error, Flags, ManagedTensor, Storage};

use super::npu::{NPU, Session, filled, held_by, stream, vector};
use super::variant::Variant;

type Both = (Cpu, Npu);

const U4: DataType = DataType::new(tensors::ffi::kDLUInt, 4, 1);

/// The elements of a copy, which has to be one.
fn elements<T: tensors::Element>(copy: ManagedTensor) -> Vec<T> {
    assert_eq!((copy.device(), copy.flags()), (Device::CPU, Flags::IS_COPIED));
    let foreign = ImportedStorage::from(copy);
    let elements = foreign.elements();
    foreign.delete(Farewell::Plain);
    elements
}

#[test]
fn every_layout_as_on_the_host() {
    let _session = Session;
    let numbers: Vec<i32> = (0..24).collect();
    let device = DeviceBuffer::<Npu>::from_slice(NPU, &numbers).unwrap();
    assert_eq!(device.to_vec::<i32>().unwrap(), numbers);
    let layouts: [(&[i64], &[i64], u64); 9] = [
        (&[24], &[1], 0),
        (&[2, 3, 4], &[12, 4, 1], 0),
        (&[4, 3, 2], &[1, 4, 12], 0),
        (&[3], &[-2], 80),
        (&[2, 3], &[12, 2], 16),
        (&[5, 2], &[0, 1], 92 - 4),
        (&[], &[], 20),
        (&[0, 4], &[4, 1], 0),
        (&[2, 2, 2], &[-12, 1, -4], 64),
    ];
    for (shape, strides, byte_offset) in layouts {
        let owner = |device: DeviceBuffer<Npu>| Owner::new(device, shape);
        let on_device = owner(device.clone()).strided(strides, byte_offset);
        let on_host = Owner::new(numbers.clone(), shape).strided(strides, byte_offset);
        let copied = copy_to_host::<Both, _>(&on_device).unwrap();
        assert_eq!(copied.shape(), shape);
        let expected = elements::<i32>(on_host.copy_to_dlpack().unwrap());
        assert_eq!(elements::<i32>(copied), expected, "{shape:?} {strides:?} {byte_offset}");
        // A copy of memory that the processor can read is unchanged.
        assert_eq!(elements::<i32>(copy_to_host::<Both, _>(&on_host).unwrap()), expected);
    }
}

#[test]
fn the_copy_waits_for_the_work() {
    let _session = Session;
    let gate = Event::of_host();
    let tensor = vector(filled(held_by(&gate), 3.0), 4);
    let copy = thread::scope(|scope| {
        let copy = scope.spawn(|| copy_to_host::<Both, _>(&tensor));
        gate.set();
        copy.join().unwrap().unwrap()
    });
    assert_eq!(elements::<f32>(copy), [3.0; 4]);
}

/// More bytes than one piece of a copy has, in both directions.
#[test]
#[cfg_attr(miri, ignore = "too many bytes")]
fn large_copies_are_made_in_pieces() {
    let _session = Session;
    let count = (8 << 20) / 4 + 3;
    let numbers: Vec<u32> = (0..count).collect();
    let device = DeviceBuffer::<Npu>::from_slice(NPU, &numbers).unwrap();
    assert!(device.to_vec::<u32>().unwrap() == numbers);
    let backwards = Owner::new(device, &[count.into()]).strided(&[-1], u64::from(count - 1) * 4);
    let copied = elements::<u32>(copy_to_host::<Both, _>(&backwards).unwrap());
    assert!(copied.iter().rev().eq(&numbers));
}

/// A type around a buffer cannot make a copy of pending work.
#[test]
fn a_wrapper_is_copied_after_the_work() {
    struct Wrapper(DeviceBuffer<Npu>);
    impl Storage for Wrapper {
        fn data(&self) -> DataRef<'_> {
            self.0.data()
        }
    }
    let _session = Session;
    let gate = Event::of_host();
    let tensor = vector(Wrapper(filled(held_by(&gate), 3.0)), 4);
    let copy = thread::scope(|scope| {
        let copy = scope.spawn(|| copy_to_host::<Both, _>(&tensor));
        gate.set();
        copy.join().unwrap().unwrap()
    });
    assert_eq!(elements::<f32>(copy), [3.0; 4]);
}

#[test]
fn a_backend_without_copies_returns_an_error() {
    let _session = Session;
    let tensor = vector(filled(stream(), 3.0), 4);
    assert_eq!(tensor.copy_to_dlpack().unwrap_err(), Error::NotOnHost { device: NPU });
    let error = copy_to_host::<Cpu, _>(&tensor).unwrap_err();
    assert_eq!(error, Error::NoBackend { device: NPU });
    let error = copy_to_host::<(Cpu, Variant<true, true>), _>(&tensor).unwrap_err();
    assert_eq!(error, Error::Unsupported { device: NPU, what: "copy to the host" });
    assert_eq!(
        tensor.data.to_vec::<i32>().unwrap_err(),
        Error::ElementMismatch { requested: DataType::I32, found: DataType::F32 },
    );
}

/// Packed elements are copied where they are contiguous, as on the host.
#[test]
fn packed_elements_are_copied() {
    let _session = Session;
    let device = DeviceBuffer::<Npu>::from_slice(NPU, &[0x21_u8, 0x43, 0x65]).unwrap();
    let fours = Owner::new(device.clone(), &[5]).dtype(U4);
    let copied = copy_to_host::<Both, _>(&fours).unwrap();
    assert_eq!(copied.dtype(), U4);
    let bytes = copied.data_ptr();
    // SAFETY: five elements of four bits take three bytes.
    let bytes = unsafe { core::slice::from_raw_parts(bytes, 3) };
    assert_eq!(bytes, [0x21, 0x43, 0x65]);
    let backwards = Owner::new(device, &[2]).dtype(U4).strided(&[2], 0);
    let error = copy_to_host::<Both, _>(&backwards).unwrap_err();
    assert_eq!(error, Error::PackedStrides { dtype: U4 });
}

/// An error that the device detects during the copy is the error of the copy.
#[test]
fn a_failed_copy_is_an_error() {
    let _session = Session;
    let ours = stream::<Npu>();
    let address = ours.stream().allocate(16).unwrap();
    let memory = MemoryRange::new(NonNull::new(address.as_ptr()).unwrap(), 16);
    ours.stream().free(address);
    ours.stream().synchronize().unwrap();
    // SAFETY: none: the memory is gone. The device finds that out.
    let buffer = unsafe {
        DeviceBuffer::from_raw_parts(
            memory,
            DataType::F32,
            ours.clone(),
            (),
            FreeOrder::StreamOrdered,
        )
    };
    let failed = device_error(NPU, "synchronize", BAD_ADDRESS.0.into(), "");
    assert_eq!(buffer.to_vec::<f32>().unwrap_err(), failed);
    let copy = new_device::runtime::with_stream(ours.stream(), || {
        copy_to_host::<Both, _>(&vector(buffer, 4)).map(|_| ())
    });
    assert_eq!(copy, Err(failed));
}
