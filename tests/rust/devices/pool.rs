//! A backend whose allocations are parts of one object, and copies between its two devices.

use core::ptr;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::OnceLock;

use new_device::Npu;
use new_device::runtime::{self, Address, Stream as Queue};
use tensors::backend::testing::{Gate, Hooks, conform};
use tensors::backend::{
    Backend, Cpu, DeviceBuffer, FreeOrder, MemoryRange, MemoryRef, MemoryType, StreamHandle,
    WorkStream, copy_on_device, copy_to_device, copy_to_host,
};
use tensors::ffi::kDLExtDev;
use tensors::{DLPackExport, DataType, Device, Error, ImportedStorage, Storage, StreamArg};

use super::npu::{NPU, Session, stream, vector};

/// A pool of memory on each device of [`Npu`].
struct Pool;

const POOL: usize = 1 << 14;
static POOLS: [OnceLock<Address>; 2] = [OnceLock::new(), OnceLock::new()];
/// Bytes in use of each pool: they are used once.
static USED: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];

fn npu(stream: &WorkStream<Pool>) -> WorkStream<Npu> {
    // SAFETY: 1. and 2. It is the same stream.
    unsafe { WorkStream::new(stream.device(), stream.handle(), stream.stream().clone()) }
}

// SAFETY: 1. to 7. As of `Npu`. 8. Ranges of a pool are apart, and zeroed in the order of the
// stream; they are never used again. `copy` is that of `Npu`.
unsafe impl Backend for Pool {
    const MEMORY_TYPES: &'static [MemoryType] = Npu::MEMORY_TYPES;
    const STREAMS_LAST: bool = true;
    type Stream = Queue;

    fn current_stream(device: Device) -> Result<WorkStream<Self>, Error> {
        let stream = WorkStream::<Npu>::current(device)?;
        // SAFETY: 1. and 2. It is the same stream.
        Ok(unsafe { WorkStream::new(device, stream.handle(), stream.stream().clone()) })
    }

    unsafe fn borrow_stream(device: Device, handle: StreamHandle) -> Result<Queue, Error> {
        // SAFETY: 1. By 1.
        unsafe { Npu::borrow_stream(device, handle) }
    }

    fn allocate(stream: &WorkStream<Self>, byte_len: usize) -> Result<MemoryRange, Error> {
        let memory = Self::allocate_uninit(stream, byte_len)?;
        let bytes = memory.byte_offset..memory.byte_offset + memory.byte_len;
        stream.stream().fill(Address::from_ptr(memory.data.as_ptr()), bytes, 0.0);
        Ok(memory)
    }

    fn allocate_uninit(stream: &WorkStream<Self>, byte_len: usize) -> Result<MemoryRange, Error> {
        let queue = stream.stream();
        let pool = *POOLS[queue.device()].get_or_init(|| {
            let pool = queue.allocate(POOL).unwrap();
            queue.fill(pool, 0..POOL, 9.0);
            queue.synchronize().unwrap();
            pool
        });
        let rounded = byte_len.checked_next_multiple_of(64).filter(|&rounded| rounded < POOL / 2);
        let rounded = rounded.ok_or(Error::OutOfMemory { bytes: byte_len })?;
        let byte_offset = USED[queue.device()].fetch_add(rounded, Ordering::Relaxed);
        if byte_offset + rounded > POOL {
            return Err(Error::OutOfMemory { bytes: byte_len });
        }
        let data = ptr::NonNull::new(pool.as_ptr()).unwrap();
        Ok(MemoryRange { data, byte_offset, byte_len: rounded })
    }

    unsafe fn deallocate(_: &WorkStream<Self>, memory: MemoryRange) -> Result<(), Error> {
        assert_eq!((memory.byte_offset % 64, memory.byte_len % 64), (0, 0));
        Ok(())
    }

    unsafe fn copy(
        stream: &WorkStream<Self>,
        from: MemoryRef,
        to: MemoryRef,
        byte_len: usize,
    ) -> Result<(), Error> {
        // SAFETY: 1. By 1.
        unsafe { Npu::copy(&npu(stream), from, to, byte_len) }
    }
}

struct OfPool;

impl Hooks<Pool> for OfPool {
    fn stream(&self, _: Device, _: usize) -> Result<WorkStream<Pool>, Error> {
        Ok(stream::<Pool>())
    }

    fn gate(&self, stream: &WorkStream<Pool>) -> Result<Gate, Error> {
        let gate = runtime::Event::of_host();
        stream.stream().wait(&gate);
        Ok(Box::new(move || gate.set()))
    }
}

/// The tensors of a pool are parts of its object, and end where they end.
#[test]
fn parts_of_a_pool_are_tensors() {
    let _session = Session;
    let first = DeviceBuffer::<Pool>::zeroed_on(stream(), DataType::F32, 3).unwrap();
    let second = DeviceBuffer::<Pool>::from_slice_on(stream(), &[1.0_f32, 2.0, 3.0]).unwrap();
    assert_eq!((first.byte_len(), second.byte_len()), (12, 12));
    assert_eq!(first.as_ptr(), second.as_ptr());
    assert_ne!(first.place().byte_offset, second.place().byte_offset);
    assert_eq!(first.to_vec::<f32>().unwrap(), [0.0; 3]);
    let offset = second.place().byte_offset;
    let tensor = vector(second.clone(), 3).into_dlpack_on(StreamArg::on_host()).unwrap();
    assert_eq!(tensor.import().unwrap().byte_offset(), offset);
    // A longer tensor would reach the next one.
    let longer = vector(second.clone(), 4).into_dlpack_on(StreamArg::on_host());
    assert!(matches!(longer, Err(Error::OutOfBounds { len: 12, .. })), "{longer:?}");
    let copy = copy_to_host::<(Cpu, Pool), _>(&vector(second, 3)).unwrap().import().unwrap();
    assert_eq!(copy.elements::<f32>().unwrap().to_vec().unwrap(), [1.0, 2.0, 3.0]);
    if cfg!(miri) {
        return;
    }
    let report = conform::<Pool>(NPU, OfPool);
    assert!(report.is_pass(), "{report}");
    assert!(report.passed.contains(&"zeroed memory"), "{report}");
}

/// Memory that is adopted may begin inside of an object.
#[test]
fn adopted_memory_has_an_offset() {
    let _session = Session;
    let ours = stream::<Npu>();
    let address = ours.stream().allocate(64).unwrap();
    ours.stream().fill(address, 16..32, 5.0);
    let data = ptr::NonNull::new(address.as_ptr()).unwrap();
    let part = MemoryRange { byte_offset: 16, ..MemoryRange::new(data, 16) };
    let (dtype, freed) = (DataType::F32, FreeOrder::StreamOrdered);
    // SAFETY: 1. to 4. The memory is new, and the device's. 5. It is freed below.
    let buffer = unsafe { DeviceBuffer::from_raw_parts(part, dtype, ours.clone(), (), freed) };
    assert_eq!((buffer.place().byte_offset, buffer.byte_len()), (16, 16));
    assert_eq!(buffer.to_vec::<f32>().unwrap(), [5.0; 4]);
    assert_eq!(buffer.data().device(), NPU);
    drop(buffer);
    ours.stream().free(address);
    assert_eq!(ours.synchronize(), Ok(()));
}

/// On a device with addresses the offset is a part of the address.
#[test]
fn adopted_memory_of_the_host_has_an_address() {
    let elements = [[1_u32, 2], [3, 4]].map(|pair| pair.map(core::sync::atomic::AtomicU32::new));
    let data = ptr::NonNull::from(Box::leak(Box::new(elements))).cast();
    let part = MemoryRange { byte_offset: 8, ..MemoryRange::new(data, 8) };
    let stream = WorkStream::<Cpu>::current(Device::CPU).unwrap();
    let freed = FreeOrder::Immediate;
    // SAFETY: 1. to 4. The memory is leaked, of atomic numbers. 5. It is never freed.
    let buffer = unsafe { DeviceBuffer::from_raw_parts(part, DataType::U32, stream, (), freed) };
    assert_eq!(buffer.to_vec::<u32>().unwrap(), [3, 4]);
    assert_eq!(buffer.as_ptr().addr(), data.as_ptr().addr() + 8);
    // SAFETY: it was leaked above, and the buffer is not used again.
    drop(unsafe { Box::from_raw(data.cast::<[[u32; 2]; 2]>().as_ptr()) });
}

/// A kernel writes memory that was not zeroed.
#[test]
fn uninitialized_memory_is_written_first() {
    let _session = Session;
    let zeroed = DeviceBuffer::<Pool>::zeroed_on(stream(), DataType::F32, 4).unwrap();
    assert_eq!(zeroed.to_vec::<f32>().unwrap(), [0.0; 4]);
    // SAFETY: 1. The kernel below writes all of it; before that, the test shows what it has.
    let buffer = unsafe { DeviceBuffer::<Pool>::uninit_on(stream(), DataType::F32, 4) }.unwrap();
    assert_eq!(buffer.to_vec::<f32>().unwrap(), [9.0; 4]);
    let (place, queue) = (buffer.place(), buffer.stream().stream());
    let start = usize::try_from(place.byte_offset).unwrap();
    queue.fill(Address::from_ptr(place.data), start..start + 16, 4.0);
    assert_eq!(buffer.to_vec::<f32>().unwrap(), [4.0; 4]);
    // SAFETY: 1. Nothing reads it.
    let none = unsafe { DeviceBuffer::<Pool>::uninit_on(stream(), DataType::F32, usize::MAX) };
    assert_eq!(none.map(drop), Err(Error::SizeOverflow));
}

/// The copy is ordered after the producer's work, and the consumer's work after the copy.
#[test]
fn a_tensor_is_copied_to_the_next_device() {
    let _session = Session;
    let other = Device::new(kDLExtDev, 1);
    let gate = runtime::Event::of_host();
    let buffer = DeviceBuffer::<Npu>::zeroed_on(stream(), DataType::F32, 4).unwrap();
    buffer.stream().stream().wait(&gate);
    buffer.stream().stream().fill(super::npu::address(&buffer), 4..16, 6.0);
    let opener = std::thread::spawn(move || gate.set());
    let tensor = vector(buffer, 4);
    let consumer = WorkStream::<Npu>::current(other).unwrap();
    let copy = copy_to_device::<(Cpu, Npu), _>(&tensor, other, consumer.as_arg()).unwrap();
    opener.join().unwrap();
    assert_eq!(copy.device(), other);
    let copy = ImportedStorage::from(copy.import().unwrap());
    // SAFETY: 1. The copy was synchronized with that stream.
    let copy = unsafe { DeviceBuffer::<Npu>::from_foreign(copy, consumer) }.unwrap();
    assert_eq!(copy.to_vec::<f32>().unwrap(), [0.0, 6.0, 6.0, 6.0]);
    // A stream of the first device does not fit.
    let ours = stream::<Npu>();
    let mismatch = copy_to_device::<Npu, _>(&tensor, other, ours.as_arg()).unwrap_err();
    assert_eq!(mismatch, Error::DeviceMismatch { device: NPU, storage: other });
    let missing = Device::new(kDLExtDev, 2);
    let none = copy_to_device::<Npu, _>(&tensor, missing, StreamArg::on_host()).unwrap_err();
    assert_eq!(none, Error::NoBackend { device: missing });
    let host = copy_to_device::<(Cpu, Npu), _>(&tensor, Device::CPU, StreamArg::on_host());
    assert_eq!(host.unwrap_err(), Error::NoBackend { device: Device::CPU });
    assert_eq!(copy_on_device::<Npu, _>(&tensor, ours.as_arg()).unwrap().device(), NPU);
}
