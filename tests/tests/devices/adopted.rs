//! Memory that somebody else allocated, in a buffer.

use core::ptr::NonNull;
use core::time::Duration;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use new_device::Npu;
use new_device::runtime::{Address, Event, Stream};
use tensors::backend::{DeviceBuffer, Freed, WorkStream};
use tensors::{DLPackExport, DataType};

use super::npu::{Session, held_by, stream, vector};

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
    freed: Freed,
    dropped: Sender<()>,
) -> DeviceBuffer<Npu> {
    let address = ours.stream().allocate(16).unwrap();
    let owner = Theirs { address, stream: owner_frees_on, dropped };
    let data = NonNull::new(address.as_ptr()).unwrap();
    // SAFETY: 1. to 4. The memory is the owner's, new, and the device's. 5. It
    // is freed in order of a stream: ours, or another, which is "at once" to us.
    unsafe { DeviceBuffer::from_raw_parts(data, 16, DataType::F32, ours.clone(), owner, freed) }
}

/// An owner that frees in order is dropped while kernels run.
#[test]
fn freed_in_order() {
    let _session = Session;
    let (gate, (dropped, was_dropped)) = (Event::of_host(), channel());
    let (ours, consumer) = (stream::<Npu>(), held_by(&gate));
    let buffer = adopt(&ours, ours.stream().clone(), Freed::InOrder, dropped);
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
fn freed_at_once() {
    let _session = Session;
    let (gate, (dropped, was_dropped)) = (Event::of_host(), channel());
    let (ours, consumer, theirs) = (stream::<Npu>(), held_by(&gate), Stream::new(0).unwrap());
    let buffer = adopt(&ours, theirs.clone(), Freed::AtOnce, dropped);
    let address = Address::from_ptr(buffer.as_ptr());
    let result = consumer.stream().allocate(4).unwrap();
    let tensor = vector(buffer, 4).into_dlpack_on(consumer.as_arg()).unwrap();
    consumer.stream().sum(address, 0..16, result);
    thread::scope(|scope| {
        let released = scope.spawn(move || drop(tensor));
        // Time for a mistake to happen; what is right does not need it.
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
fn nobody_frees_it() {
    let _session = Session;
    let ours = stream::<Npu>();
    let address = ours.stream().allocate(16).unwrap();
    let data = NonNull::new(address.as_ptr()).unwrap();
    // SAFETY: 1. to 4. The memory is new, and the device's. 5. It is never freed.
    let buffer = unsafe {
        DeviceBuffer::from_raw_parts(data, 16, DataType::F32, ours.clone(), (), Freed::InOrder)
    };
    assert_eq!(buffer.to_vec::<f32>().unwrap(), [0.0; 4]);
    drop(buffer);
    ours.stream().fill(address, 0..16, 1.0);
    ours.stream().free(address);
    assert_eq!(ours.stream().synchronize(), Ok(()));
}
