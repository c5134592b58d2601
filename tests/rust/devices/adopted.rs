//! Memory that another library allocated, in a buffer.

use core::ptr::NonNull;
use core::time::Duration;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use new_device::Npu;
use new_device::runtime::{Address, Event, Stream};
use tensors::backend::{DeviceBuffer, FreeOrder, MemoryRange, WorkStream};
use tensors::{DLPackExport, DataType, Error, ImportedStorage, ImportedTensor};

use super::npu::{Session, filled, held_by, stream, vector};

/// Memory of a library that frees it when this is dropped.
struct Theirs {
    address: Address,
    stream: Stream,
    dropped: Sender<()>,
}

impl Drop for Theirs {
    fn drop(&mut self) {
        // In order of that stream, whichever it is.
        self.stream.free(self.address);
        let _ = self.dropped.send(());
    }
}

fn adopt(
    ours: &WorkStream<Npu>,
    owner_frees_on: Stream,
    freed: FreeOrder,
    dropped: Sender<()>,
) -> DeviceBuffer<Npu> {
    let address = ours.stream().allocate(16).unwrap();
    let owner = Theirs { address, stream: owner_frees_on, dropped };
    let memory = MemoryRange::new(NonNull::new(address.as_ptr()).unwrap(), 16);
    // SAFETY: 1. to 4. The memory is the owner's, new, and the device's. 5. It is freed
    // in order of a stream: ours, or another one, which we treat as "at once".
    unsafe { DeviceBuffer::from_raw_parts(memory, DataType::F32, ours.clone(), owner, freed) }
}

/// An owner that frees in order is dropped while kernels run.
#[test]
fn memory_is_freed_in_stream_order() {
    let _session = Session;
    let (gate, (dropped, was_dropped)) = (Event::of_host(), channel());
    let (ours, consumer) = (stream::<Npu>(), held_by(&gate));
    let buffer = adopt(&ours, ours.stream().clone(), FreeOrder::StreamOrdered, dropped);
    let address = Address::from_ptr(buffer.as_ptr());
    let result = consumer.stream().allocate(4).unwrap();
    let tensor = vector(buffer, 4).into_dlpack_on(consumer.as_arg()).unwrap();
    consumer.stream().sum(address, 0..16, result);
    drop(tensor);
    assert!(was_dropped.try_recv().is_ok(), "the host waits for nothing");
    gate.set();
    assert_eq!(consumer.stream().synchronize(), Ok(()));
    assert_eq!(ours.stream().synchronize(), Ok(()));
}

/// An owner that frees at once is dropped when the kernels are done.
#[test]
fn memory_freed_at_once_waits_for_consumers() {
    let _session = Session;
    let (gate, (dropped, was_dropped)) = (Event::of_host(), channel());
    let (ours, consumer, theirs) = (stream::<Npu>(), held_by(&gate), Stream::new(0).unwrap());
    let buffer = adopt(&ours, theirs.clone(), FreeOrder::Immediate, dropped);
    let address = Address::from_ptr(buffer.as_ptr());
    let result = consumer.stream().allocate(4).unwrap();
    let tensor = vector(buffer, 4).into_dlpack_on(consumer.as_arg()).unwrap();
    consumer.stream().sum(address, 0..16, result);
    thread::scope(|scope| {
        let released = scope.spawn(move || drop(tensor));
        // Time for an error to show; correct code does not need it.
        thread::sleep(Duration::from_millis(30));
        assert!(was_dropped.try_recv().is_err(), "the kernel holds it");
        gate.set();
        released.join().unwrap();
    });
    assert!(was_dropped.try_recv().is_ok());
    assert_eq!(consumer.stream().synchronize(), Ok(()));
    assert_eq!(theirs.synchronize(), Ok(()));
}

/// Device memory that is never freed has an owner without a drop.
#[test]
fn memory_without_an_owner_is_not_freed() {
    let _session = Session;
    let ours = stream::<Npu>();
    let address = ours.stream().allocate(16).unwrap();
    let memory = MemoryRange::new(NonNull::new(address.as_ptr()).unwrap(), 16);
    // SAFETY: 1. to 4. The memory is new, and the device's. 5. It is never freed.
    let buffer = unsafe {
        DeviceBuffer::from_raw_parts(
            memory,
            DataType::F32,
            ours.clone(),
            (),
            FreeOrder::StreamOrdered,
        )
    };
    assert_eq!(buffer.to_vec::<f32>().unwrap(), [0.0; 4]);
    drop(buffer);
    ours.stream().fill(address, 0..16, 1.0);
    ours.stream().free(address);
    assert_eq!(ours.stream().synchronize(), Ok(()));
}

/// An import as a buffer: ordered before its consumers' work, and released after it.
#[test]
fn an_import_is_adopted_as_a_buffer() {
    let _session = Session;
    let (gate, ours) = (Event::of_host(), stream::<Npu>());
    let (lent, theirs) = (filled(ours.clone(), 2.0), ours.clone());
    let address = Address::from_ptr(lent.as_ptr());
    let foreign =
        ImportedStorage::new(vector(lent, 4).into_dlpack().unwrap().import().unwrap()).unwrap();
    // SAFETY: 1. It was filled on that stream.
    let buffer = unsafe { DeviceBuffer::from_foreign(foreign, theirs) }.unwrap();
    assert_eq!(buffer.to_vec::<f32>(), Ok(vec![2.0; 4]));
    let consumer = held_by(&gate);
    let result = consumer.stream().allocate(4).unwrap();
    let tensor = vector(buffer, 4).into_dlpack_on(consumer.as_arg()).unwrap();
    consumer.stream().sum(address, 0..16, result);
    thread::scope(|scope| {
        scope.spawn(move || drop(tensor));
        thread::sleep(Duration::from_millis(20));
        gate.set();
    });
    assert_eq!(consumer.stream().synchronize(), Ok(()));
    assert_eq!(ours.stream().synchronize(), Ok(()));
}

/// Nothing has no address, and is a buffer even so.
#[test]
fn an_empty_import_is_adopted() {
    let _session = Session;
    let ours = stream::<Npu>();
    let nothing = DeviceBuffer::zeroed_on(ours.clone(), DataType::F32, 0).unwrap();
    let exported = vector(nothing, 0).into_dlpack().unwrap().into_raw();
    // SAFETY: we own it.
    unsafe { (*exported).dl_tensor.data = core::ptr::null_mut() };
    // SAFETY: 1. It was just exported, and is empty as the standard defines it.
    let foreign =
        ImportedStorage::new(unsafe { ImportedTensor::from_raw(exported) }.unwrap()).unwrap();
    // SAFETY: 1. No work is pending on the tensor.
    let buffer = unsafe { DeviceBuffer::from_foreign(foreign, ours) }.unwrap();
    assert_eq!((buffer.byte_len(), buffer.to_vec::<f32>()), (0, Ok(Vec::new())));
    assert_eq!(vector(buffer, 0).into_dlpack().map(drop), Ok(()));
}

#[test]
fn an_import_of_another_device_is_refused() {
    let _session = Session;
    let owned =
        ImportedStorage::new(vector(vec![1.0_f32], 1).into_dlpack().unwrap().import().unwrap());
    // SAFETY: 1. It is refused.
    let refused = unsafe { DeviceBuffer::from_foreign(owned.unwrap(), stream::<Npu>()) };
    let refused = refused.map(drop);
    assert!(matches!(refused, Err(Error::DeviceMismatch { .. })), "{refused:?}");
}
