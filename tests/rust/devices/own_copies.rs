//! Tensors of a device, copied on the device.

use std::thread;

use dlpack_tests::counted::Owner;
use new_device::Npu;
use new_device::runtime::{Address, Event};
use tensors::backend::{Cpu, DeviceBuffer, MemoryRef, copy_on_device, copy_to_host};
use tensors::{DLPackExport, Device, Error, Flags, ManagedTensor, SharedBuffer, StreamArg};

use super::npu::{NPU, Session, filled, held_by, stream, vector};
use super::variant::Variant;

type Both = (Cpu, Npu);

/// The bytes from the first element on.
fn bytes(tensor: &ManagedTensor, byte_len: usize) -> Vec<u8> {
    // SAFETY: 1. The struct lives as long as the tensor.
    let byte_offset = unsafe { (*tensor.as_raw()).dl_tensor.byte_offset };
    let data = tensor.data_ptr().cast_mut().cast();
    let from = MemoryRef { device: NPU, data, byte_offset };
    let ours = stream::<Npu>();
    let mut bytes = vec![0_u8; byte_len];
    let start = usize::try_from(from.byte_offset).unwrap();
    // SAFETY: 1. The vector is there until the stream has been waited for.
    unsafe {
        ours.stream().copy_to_host((Address::from_ptr(data), start), bytes.as_mut_ptr(), byte_len);
    };
    ours.synchronize().unwrap();
    bytes
}

/// A copy has memory of its own, the strides of the tensor, and the elements as
/// they are when the pending work is done.
#[test]
fn strided_tensors_are_copied_on_the_device() {
    let _session = Session;
    let numbers: Vec<u8> = (0..24).collect();
    let device = DeviceBuffer::<Npu>::from_slice(NPU, &numbers).unwrap();
    let tensor = Owner::new(device.clone(), &[2, 3]).strided(&[-8, 2], 12);
    let consumer = stream::<Npu>();
    let copy = copy_on_device::<Both, _>(&tensor, consumer.as_arg()).unwrap();
    assert_eq!((copy.device(), copy.flags()), (NPU, Flags::IS_COPIED));
    assert_eq!((copy.shape(), copy.strides()), (&[2, 3][..], &[-8, 2][..]));
    assert_ne!(copy.data_ptr(), device.as_ptr().cast_const().cast());
    // Bytes 4 to 16 are spanned, and the first element is byte 12.
    assert_eq!(bytes(&copy, 5), [12, 13, 14, 15, 16]);
    drop((tensor, device));
    assert_eq!(bytes(&copy, 5), [12, 13, 14, 15, 16]);
}

#[test]
fn copies_include_pending_work() {
    let _session = Session;
    let gate = Event::of_host();
    let tensor = vector(filled(held_by(&gate), 3.0), 4);
    let copy = thread::scope(|scope| {
        let copy = scope.spawn(|| copy_on_device::<Both, _>(&tensor, StreamArg::unspecified()));
        gate.set();
        copy.join().unwrap().unwrap()
    });
    assert_eq!(bytes(&copy, 16), [3.0_f32; 4].map(f32::to_ne_bytes).as_flattened());
    // A consumer's copy is one that it can copy to the host.
    drop(tensor);
}

#[test]
fn empty_tensors_and_host_tensors_are_copied() {
    let _session = Session;
    let nothing = vector(filled(stream(), 3.0), 0);
    let copy = copy_on_device::<Both, _>(&nothing, StreamArg::unspecified()).unwrap();
    assert_eq!((copy.shape(), copy.flags()), (&[0][..], Flags::IS_COPIED));
    let host = vector(SharedBuffer::from_slice(&[1_u8, 2]).unwrap(), 2);
    let copy = copy_on_device::<Both, _>(&host, StreamArg::unspecified()).unwrap();
    assert_eq!((copy.device(), copy.flags()), (Device::CPU, Flags::IS_COPIED));
}

#[test]
fn a_backend_without_copies_returns_an_error() {
    let _session = Session;
    let tensor = vector(filled(stream(), 3.0), 4);
    let copy = |error| match error {
        Err(error) => error,
        Ok(tensor) => panic!("{tensor:?}"),
    };
    let none = StreamArg::unspecified();
    let error = copy(copy_on_device::<Cpu, _>(&tensor, none));
    assert_eq!(error, Error::NoBackend { device: NPU });
    let error = copy(copy_on_device::<Variant<true, true>, _>(&tensor, none));
    assert_eq!(error, Error::Unsupported { device: NPU, what: "copy" });
    let error = copy(copy_on_device::<Variant<true, true, false>, _>(&tensor, none));
    assert_eq!(error, Error::Unsupported { device: NPU, what: "allocator" });
    // The consumer owns the copy, and must pass the stream on which it will use it.
    let error = copy(copy_on_device::<Both, _>(&tensor, StreamArg::no_sync()));
    assert_eq!(error, Error::StreamUntracked { device: NPU });
    assert!(copy_to_host::<Both, _>(&tensor).is_ok());
    assert!(tensor.to_dlpack().is_ok());
}
