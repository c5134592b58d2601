//! What a backend states of its memory: addresses or handles, and memory that the processor reads.
//! The chip has the memory of the host, presented as that of two devices of a vendor.

use core::cell::Cell;
use core::ffi::c_void;
use core::marker::PhantomData;

use dlpack_tests::counted::Owner;
use dlpack_tests::foreign::{Farewell, ImportedStorage as Consumer};
use tensors::backend::{
    Attributes, Backend, Cpu, DeviceBuffer, DeviceTensor, FreeOrder, MemoryRange, MemoryRef,
    MemoryType, NoStream, Stream, StreamHandle, StreamMeaning, StreamRules, WorkStream,
    check_device,
};
use tensors::{
    DLPackExport, DLPackImport, DataType, Device, Error, ImportedStorage, StreamArg, ffi,
};

const CHIP: Device = Device::new(ffi::kDLTPU, 0);
const OTHER_CHIP: Device = Device::new(ffi::kDLTPU, 1);
const PINNED: Device = Device::new(ffi::kDLTPUHost, 0);

thread_local! {
    static WAITED: Cell<u32> = const { Cell::new(0) };
}

#[derive(Clone)]
struct Queue;

// SAFETY: 1. to 11. The work of a call is done when the call returns.
unsafe impl Stream for Queue {
    type Event = NoStream;

    const IN_ORDER: bool = true;
    const GRAPHS: bool = false;

    fn record(&self) -> Result<NoStream, Error> {
        Ok(NoStream)
    }

    fn wait(&self, _: &NoStream) -> Result<(), Error> {
        Ok(())
    }

    fn synchronize(&self) -> Result<(), Error> {
        WAITED.set(WAITED.get() + 1);
        Ok(())
    }
}

trait Kinds: 'static {
    const TYPES: &'static [MemoryType];
}

struct Addresses;
struct Handles;

impl Kinds for Addresses {
    const TYPES: &'static [MemoryType] = &[
        MemoryType::with_addresses(ffi::kDLTPU),
        MemoryType::with_addresses(ffi::kDLTPUHost).read_by_host(),
    ];
}

impl Kinds for Handles {
    const TYPES: &'static [MemoryType] = &[MemoryType::with_handles(ffi::kDLTPU)];
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Typed<B: Backend> {
    data: DeviceBuffer<B>,
    shape: [usize; 1],
    dtype: DataType,
}

/// A consumer that names no stream works on stream 7, as on the default stream of a GPU.
struct Chip<K>(PhantomData<K>);

fn host() -> WorkStream<Cpu> {
    WorkStream::current(Device::CPU).unwrap()
}

// SAFETY: 1. to 9. Any handle is a stream: the work of a call is done when the call returns. The
// memory is that of `Cpu`, and a handle is the address of its object.
unsafe impl<K: Kinds> Backend for Chip<K> {
    const MEMORY_TYPES: &'static [MemoryType] = K::TYPES;
    const RULES: StreamRules =
        StreamRules::new(StreamMeaning::Default(7), &[(7, StreamMeaning::Default(7))], 7);
    const STREAMS_LAST: bool = true;
    const SYNCHRONIZE_DEVICE: Option<fn(Device) -> Result<(), Error>> = Some(|_| Ok(()));
    type Stream = Queue;

    fn current_stream(device: Device) -> Result<WorkStream<Self>, Error> {
        // SAFETY: 1. and 2. A queue can be used with any handle and device.
        Ok(unsafe { WorkStream::new(device, StreamHandle::from_number(64), Queue) })
    }

    unsafe fn borrow_stream(_: Device, _: StreamHandle) -> Result<Queue, Error> {
        Ok(Queue)
    }

    fn allocate(_: &WorkStream<Self>, byte_len: usize) -> Result<MemoryRange, Error> {
        Cpu::allocate(&host(), byte_len)
    }

    unsafe fn deallocate(_: &WorkStream<Self>, memory: MemoryRange) -> Result<(), Error> {
        // SAFETY: 1. and 2. By 1. and 2.
        unsafe { Cpu::deallocate(&host(), memory) }
    }

    unsafe fn copy(
        _: &WorkStream<Self>,
        from: MemoryRef,
        to: MemoryRef,
        byte_len: usize,
    ) -> Result<(), Error> {
        let on_host = |at: MemoryRef| MemoryRef {
            data: at.address().cast(),
            byte_offset: 0,
            device: Device::CPU,
        };
        // SAFETY: 1. By 1.
        unsafe { Cpu::copy(&host(), on_host(from), on_host(to), byte_len) }
    }

    fn attributes(data: *const c_void, hint: Device) -> Result<Attributes, Error> {
        SEEN.set(data.addr());
        Ok(Attributes { device: hint, host_accessible: true })
    }
}

thread_local! {
    /// The last address or handle of which attributes were asked.
    static SEEN: Cell<usize> = const { Cell::new(0) };
}

fn buffer<K: Kinds>(device: Device) -> DeviceBuffer<Chip<K>> {
    DeviceBuffer::from_slice(device, &[0_i32, 1, 2, 3, 4, 5]).unwrap()
}

/// `data` relative to the start of the buffer, and `byte_offset`.
fn place(data: &DeviceBuffer<impl Backend>, tensor: &impl DLPackExport) -> (Option<usize>, u64) {
    let consumer = Consumer::from(tensor.to_dlpack().unwrap());
    let (found, byte_offset) = (consumer.tensor().data.addr(), consumer.tensor().byte_offset);
    consumer.delete(Farewell::Plain);
    ((found != 0).then(|| found - data.as_ptr().addr()), byte_offset)
}

#[test]
fn a_part_is_at_its_own_address_or_beside_the_handle() {
    let data = buffer::<Addresses>(CHIP);
    let part = Owner::new(data.clone(), &[2]).strided(&[1], 12);
    assert_eq!(place(&data, &part), (Some(12), 0));
    let data = buffer::<Handles>(CHIP);
    let part = Owner::new(data.clone(), &[2]).strided(&[1], 12);
    assert_eq!(place(&data, &part), (Some(0), 12));
}

/// The header asks for NULL, whatever `data` is.
#[test]
fn an_empty_tensor_has_no_data() {
    let data = buffer::<Addresses>(CHIP);
    assert_eq!(place(&data, &Owner::new(data.clone(), &[0, 2]).strided(&[2, 1], 8)), (None, 0));
    let data = buffer::<Handles>(CHIP);
    assert_eq!(place(&data, &Owner::new(data.clone(), &[0, 2]).strided(&[2, 1], 8)), (None, 0));
}

/// An import keeps both numbers, because its device type does not state what `data` is; a buffer of
/// the backend does.
#[test]
fn a_buffer_of_an_import_has_an_address_where_the_backend_has() {
    let pool = buffer::<Handles>(CHIP);
    let lent = Owner::new(pool.clone(), &[3]).strided(&[1], 12).into_dlpack().unwrap();
    let tensor = lent.import().unwrap();
    let start = tensor.data_ptr().addr();
    assert_eq!((start, tensor.byte_offset()), (pool.as_ptr().addr(), 12));
    assert_eq!(check_device::<Chip<Handles>>(&tensor), Ok(()));
    assert_eq!(SEEN.get(), start);
    assert_eq!(check_device::<Chip<Addresses>>(&tensor), Ok(()));
    assert_eq!(SEEN.get(), start + 12 + 11);
    let stream = WorkStream::<Chip<Addresses>>::current(CHIP).unwrap();
    let foreign = ImportedStorage::new(tensor).unwrap();
    // SAFETY: 1. No work is pending.
    let data = unsafe { DeviceBuffer::from_foreign(foreign, stream) }.unwrap();
    assert_eq!(data.as_ptr().addr(), start + 12);
    assert_eq!(data.to_vec::<i32>().unwrap(), [3, 4, 5]);
    assert_eq!(place(&data, &Owner::new(data.clone(), &[1]).strided(&[1], 0)), (Some(0), 0));
}

/// The same elements are aligned in their object, or not aligned at an address.
#[test]
fn elements_are_aligned_at_an_address() {
    let pool = DeviceBuffer::<Chip<Handles>>::zeroed(CHIP, DataType::U8, 16).unwrap();
    let foreign = || {
        let lent = Owner::new(pool.clone(), &[4]).strided(&[1], 1).into_dlpack().unwrap();
        ImportedStorage::new(lent.import().unwrap()).unwrap()
    };
    let stream = WorkStream::<Chip<Handles>>::current(CHIP).unwrap();
    // SAFETY: 1. No work is pending.
    let data = unsafe { DeviceBuffer::from_foreign(foreign(), stream) }.unwrap();
    let typed = Typed { data, shape: [2], dtype: DataType::I16 };
    let misaligned = Err(Error::Misaligned { dtype: DataType::I16, align: 2 });
    let lent = typed.into_dlpack().unwrap().import().unwrap();
    let stream = WorkStream::<Chip<Addresses>>::current(CHIP).unwrap();
    let again = ImportedStorage::new(lent).unwrap();
    // SAFETY: 1. No work is pending.
    assert_eq!(unsafe { DeviceBuffer::from_foreign(again, stream.clone()) }.map(drop), misaligned);
    // SAFETY: 1. No work is pending.
    let data = unsafe { DeviceBuffer::from_foreign(foreign(), stream) }.unwrap();
    let typed = Typed { data, shape: [2], dtype: DataType::I16 };
    assert_eq!(typed.into_dlpack().map(drop), misaligned);
}

/// A stream of the chip works on its pinned memory, and not on that of another chip.
#[test]
fn pinned_memory_shares_the_streams_of_its_vendor() {
    let mismatch = |device, storage| Err(Error::DeviceMismatch { device, storage });
    for (stream, memory, expected) in [
        (CHIP, CHIP, Ok(())),
        (CHIP, PINNED, Ok(())),
        (OTHER_CHIP, PINNED, Ok(())),
        (OTHER_CHIP, CHIP, mismatch(OTHER_CHIP, CHIP)),
        (PINNED, OTHER_CHIP, mismatch(PINNED, OTHER_CHIP)),
    ] {
        let stream = WorkStream::<Chip<Addresses>>::current(stream).unwrap();
        let tensor = Owner::new(buffer::<Addresses>(memory), &[6]);
        assert_eq!(tensor.to_dlpack_on(stream.as_arg()).map(drop), expected);
        let lent = tensor.into_dlpack().unwrap().import().unwrap();
        // SAFETY: 1. No work is pending. 2. The memory is freed after a wait.
        let tensor = unsafe { DeviceTensor::new(lent, stream.clone(), FreeOrder::Immediate) };
        assert_eq!(tensor.map(drop), expected);
    }
    let stream = WorkStream::<Cpu>::current(Device::CPU).unwrap();
    let tensor = Owner::new(buffer::<Addresses>(PINNED), &[6]);
    assert_eq!(tensor.to_dlpack_on(stream.as_arg()).map(drop), Ok(()), "the host has no stream");
}

/// The consumer may be a library of the host, which reads at once, whatever default stream the device
/// has.
#[test]
fn the_host_waits_for_memory_that_it_reads() {
    for (device, expected) in [(CHIP, 0), (PINNED, 1)] {
        let tensor = Owner::new(buffer::<Addresses>(device), &[6]);
        let before = WAITED.get();
        drop(tensor.to_dlpack_on(StreamArg::unspecified()).unwrap());
        assert_eq!(WAITED.get() - before, expected, "{device}");
    }
}

/// The processor reads pinned memory where it is, after a wait, and passes it on as that of the CPU.
#[test]
fn pinned_memory_is_lent_to_the_host() {
    let lent = |device, len| {
        let part = Owner::new(buffer::<Addresses>(device), &[len]).strided(&[1], 12);
        let lent = part.into_dlpack().unwrap().import().unwrap();
        let (stream, before) =
            (WorkStream::<Chip<Addresses>>::current(CHIP).unwrap(), WAITED.get());
        // SAFETY: 1. No work is pending. 2. There is none.
        let tensor = unsafe { DeviceTensor::new(lent, stream, FreeOrder::StreamOrdered) }.unwrap();
        (tensor.into_host(), WAITED.get() - before)
    };
    let (tensor, waits) = lent(PINNED, 3);
    let tensor = tensor.unwrap();
    assert_eq!((tensor.device(), tensor.shape(), waits), (Device::CPU, &[3][..], 1));
    assert_eq!(tensor.elements::<i32>().unwrap().to_vec().unwrap(), [3, 4, 5]);
    let again = ImportedStorage::<i32>::new(tensor).unwrap().narrow(0, 1..3).unwrap();
    let again = again.into_dlpack().unwrap().import().unwrap();
    assert_eq!(again.elements::<i32>().unwrap().to_vec().unwrap(), [4, 5]);
    let (empty, _) = lent(PINNED, 0);
    assert!(empty.unwrap().elements::<i32>().unwrap().to_vec().unwrap().is_empty());
    assert_eq!(lent(CHIP, 3).0.map(drop), Err(Error::NotOnHost { device: CHIP }));
}

/// A buffer keeps the device of its memory, whose stream may be that of the chip.
#[test]
fn a_buffer_of_pinned_memory_has_a_stream_of_the_chip() {
    for (stream, expected) in [
        (CHIP, Ok(PINNED)),
        (OTHER_CHIP, Err(Error::DeviceMismatch { device: OTHER_CHIP, storage: PINNED })),
    ] {
        let stream = WorkStream::<Chip<Addresses>>::current(stream).unwrap();
        let tensor = Owner::new(buffer::<Addresses>(PINNED), &[6]);
        let lent = tensor.into_dlpack().unwrap().import().unwrap();
        // SAFETY: 1. No work is pending. 2. The memory is freed after a wait.
        let tensor = unsafe { DeviceTensor::new(lent, stream.clone(), FreeOrder::Immediate) };
        let buffer = tensor.unwrap().into_buffer();
        assert_eq!(buffer.map(|buffer| buffer.device()), expected);
        let made = stream.on_memory(PINNED).and_then(|stream| {
            DeviceBuffer::from_slice_on(stream, &[1_i32, 2]).map(|made| made.device())
        });
        assert_eq!(made, expected);
    }
    let stream = WorkStream::<Chip<Addresses>>::current(CHIP).unwrap();
    let host = stream.on_memory(Device::CPU).map(drop);
    assert_eq!(host, Err(Error::DeviceMismatch { device: CHIP, storage: Device::CPU }));
}

/// A consumer that names no stream works on the default stream, and so does an import without one.
#[test]
fn an_import_is_ready_on_the_default_stream() {
    #[derive(DLPackImport)]
    #[dlpack(crate = ::tensors)]
    #[allow(dead_code, reason = "only imported")]
    struct OnChip {
        data: DeviceBuffer<Chip<Addresses>>,
        shape: [i64; 1],
    }
    let lent = Owner::new(buffer::<Addresses>(CHIP), &[6]).into_dlpack().unwrap();
    let kept = OnChip::from_dlpack(lent.import().unwrap()).unwrap();
    assert_eq!(kept.data.stream().handle().number(), 7);
    assert_eq!(kept.data.to_vec::<i32>().unwrap(), [0, 1, 2, 3, 4, 5]);
}

#[test]
#[should_panic(expected = "`data` is an address on this type of device")]
fn a_device_with_addresses_has_no_handles() {
    let _ = MemoryType::with_handles(ffi::kDLCUDA);
}
