//! CUDA memory: allocated, copied, classified, and freed on any thread.

#![cfg(target_os = "linux")]
#![expect(clippy::std_instead_of_core, reason = "tests for machines that have std")]

use std::cell::RefCell;
use std::ffi::c_void;
use std::thread;
use std::time::Duration;

use dlpack_gpu_tests::session::{check, session};
use dlpack_traits::backend::{
    self, Attributes, Backends, Cpu, Cuda, DeviceBuffer, Prototype, StreamHandle, WorkStream,
    copy_to_host,
};
use dlpack_traits::{
    DLPackExport, DataRef, DataType, Describe, Description, Device, Dims, Error, ManagedTensor,
    Storage, StreamArg, Synchronize,
};

#[derive(DLPackExport)]
struct Samples {
    data: DeviceBuffer<Cuda>,
    shape: [usize; 2],
}

fn samples() -> Samples {
    let numbers: Vec<f32> = (0_u16..12).map(f32::from).collect();
    let data = DeviceBuffer::from_slice(Device::cuda(0), &numbers).expect("memory");
    Samples { data, shape: [3, 4] }
}

fn address(buffer: &DeviceBuffer<Cuda>) -> usize {
    buffer.as_ptr().addr()
}

#[test]
fn memory_is_zeroed_and_copied() -> Result<(), Error> {
    let Some(_session) = session() else { return Ok(()) };
    let zeros = DeviceBuffer::<Cuda>::zeroed(Device::cuda(0), DataType::U16, 1000)?;
    assert_eq!(zeros.to_vec::<u16>()?, [0; 1000]);
    assert_eq!(zeros.as_ptr().addr() % 64, 0);
    let numbers = DeviceBuffer::<Cuda>::from_slice(Device::cuda(0), &[1.5_f64, 2.5])?;
    assert_eq!(numbers.to_vec::<f64>()?, [1.5, 2.5]);
    let nothing = DeviceBuffer::<Cuda>::from_slice::<u8>(Device::cuda(0), &[])?;
    assert!(nothing.to_vec::<u8>()?.is_empty());
    Ok(())
}

#[test]
fn a_derived_tensor_names_its_device_and_its_copy_the_host() -> Result<(), Error> {
    let Some(_session) = session() else { return Ok(()) };
    let samples = samples();
    let shared = samples.to_dlpack()?;
    assert_eq!(shared.device(), Device::cuda(0));
    let copy = copy_to_host::<(Cpu, Cuda), _>(&samples)?;
    assert_eq!((copy.device(), copy.shape()), (Device::CPU, &[3, 4][..]));
    Ok(())
}

#[test]
fn every_device_that_exists_can_be_used() -> Result<(), Error> {
    let Some(session) = session() else { return Ok(()) };
    // The backend keeps the contexts of the others too.
    let devices = i32::try_from(Cuda::device_count()?).expect("a few");
    for ordinal in 0..devices {
        let device = Device::cuda(ordinal);
        let buffer = DeviceBuffer::<Cuda>::from_slice(device, &[7_u32])?;
        assert_eq!(buffer.to_vec::<u32>()?, [7]);
        assert_eq!(buffer.device(), device);
    }
    let device = Device::cuda(devices);
    let missing = DeviceBuffer::<Cuda>::from_slice(device, &[7_u32]).map(drop);
    assert_eq!(missing, Err(Error::NoBackend { device }));
    let mut now = 0;
    // SAFETY: the answer has a place.
    check(unsafe { (session.driver.context_get)(&raw mut now) });
    assert_eq!(now, session.context(), "the backend leaves the current context alone");
    session.keep_contexts(devices);
    Ok(())
}

fn attributes(address: usize) -> Result<Attributes, Error> {
    Cuda::pointer_attributes(std::ptr::without_provenance::<c_void>(address), Device::cuda(0))
}

#[test]
fn pointers_are_classified_by_the_driver() -> Result<(), Error> {
    let Some(session) = session() else { return Ok(()) };
    let kinds = [(Device::cuda(0), false), (Device::CUDA_HOST, true), (Device::CUDA_MANAGED, true)];
    for (device, host_accessible) in kinds {
        let buffer = DeviceBuffer::<Cuda>::zeroed(device, DataType::U8, 100)?;
        let expected = Ok(Attributes { device, host_accessible });
        assert_eq!(attributes(address(&buffer)), expected);
        assert_eq!(attributes(address(&buffer) + 99), expected, "inside");
        assert_eq!(buffer.to_vec::<u8>()?, [0; 100]);
    }
    let ours = [0_u8; 100];
    let unknown = attributes(ours.as_ptr().addr());
    assert_eq!(unknown, Err(Error::NoBackend { device: Device::cuda(0) }));
    drop(session);
    Ok(())
}

/// Memory that claims to be on a device.
struct Claim {
    data: DeviceBuffer<Cuda>,
    device: Device,
}

impl Storage for Claim {
    fn data(&self) -> DataRef<'_> {
        let (first, len) = (self.data.as_ptr().cast(), self.data.byte_len());
        // SAFETY: 1. The device may be wrong, and the address is not followed.
        // 2. and 3. The memory is not accessed.
        let data = unsafe { DataRef::from_raw_parts_shared(first, len, DataType::U8, self.device) };
        // SAFETY: 1. and 2. The memory is not used.
        unsafe { data.synchronized_by(self) }
    }
}

impl Synchronize for Claim {
    fn sync_for(&self, _: StreamArg<'_>) -> Result<(), Error> {
        Ok(())
    }
}

impl DLPackExport for Claim {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        out.shape(&[8, 8]).data(self.data())
    }

    fn storage(&self) -> Option<&dyn Storage> {
        Some(self)
    }
}

#[derive(DLPackExport)]
struct OnHost {
    data: DeviceBuffer<Cpu>,
    shape: [usize; 1],
}

/// The declared device of a tensor is compared with the driver's.
#[test]
fn declared_devices_are_checked_on_request() -> Result<(), Error> {
    let Some(_session) = session() else { return Ok(()) };
    let check = |made: Device, device: Device| -> Result<(), Error> {
        let data = DeviceBuffer::zeroed(made, DataType::U8, 64)?;
        let managed = Claim { data, device }.into_dlpack()?;
        backend::check_device::<Cuda>(&managed.import()?)
    };
    let gpu = Device::cuda(0);
    for device in [gpu, Device::CUDA_HOST, Device::CUDA_MANAGED] {
        assert_eq!(check(device, device), Ok(()));
    }
    // Pinned memory is the host's too, managed memory can be read by it.
    assert_eq!(check(Device::CUDA_HOST, Device::CPU), Ok(()));
    assert_eq!(check(Device::CUDA_MANAGED, Device::CPU), Ok(()));
    for (storage, device) in [
        (gpu, Device::CPU),
        (gpu, Device::CUDA_HOST),
        (gpu, Device::cuda(1)),
        (Device::CUDA_HOST, gpu),
        (Device::CUDA_MANAGED, gpu),
        (gpu, Device::ROCM_HOST),
    ] {
        assert_eq!(check(storage, device), Err(Error::DeviceMismatch { device, storage }));
    }
    let other = Device::rocm(0);
    assert_eq!(check(gpu, other), Err(Error::NoBackend { device: other }));
    // Memory that is none of CUDA's.
    let data = DeviceBuffer::<Cpu>::zeroed(Device::CPU, DataType::U8, 16)?;
    let host = OnHost { data, shape: [16] }.into_dlpack()?.import()?;
    assert_eq!(backend::check_device::<Cuda>(&host), Ok(()));
    let nothing = DeviceBuffer::<Cuda>::zeroed(gpu, DataType::U8, 0)?;
    let empty = Samples { data: nothing, shape: [0, 4] }.into_dlpack()?.import()?;
    assert_eq!(backend::check_device::<Cuda>(&empty), Ok(()));
    Ok(())
}

#[test]
fn pinned_and_managed_memory_wait_for_the_work_before_they_are_freed() -> Result<(), Error> {
    let Some(session) = session() else { return Ok(()) };
    for device in [Device::CUDA_HOST, Device::CUDA_MANAGED] {
        let stream = session.new_stream();
        let handle = StreamHandle::from_number(stream);
        // SAFETY: the stream is destroyed after everything that was made meanwhile.
        let entered = unsafe { Cuda::enter_stream(device, handle) }?;
        let buffer = DeviceBuffer::<Cuda>::zeroed(device, DataType::U32, 16)?;
        let gate = session.hold(stream);
        session.fill_on(stream, address(&buffer), 5, 16);
        let opener = thread::spawn(move || {
            thread::sleep(Duration::from_millis(20));
            gate.open();
        });
        drop(buffer);
        // SAFETY: a stream of the test.
        assert_eq!(unsafe { (session.driver.stream_query)(stream) }, 0, "{device}");
        drop(entered);
        session.destroy_stream(stream);
        opener.join().expect("no panic");
    }
    Ok(())
}

/// NumPy accepts such memory, names no stream, and reads as soon as it has the tensor.
/// Ordering before the legacy default stream, which is CUDA's rule for such consumers,
/// would not be enough.
#[test]
fn a_consumer_without_a_stream_reads_finished_host_memory() -> Result<(), Error> {
    let Some(session) = session() else { return Ok(()) };
    for device in [Device::CUDA_HOST, Device::CUDA_MANAGED] {
        let own = session.new_stream();
        for stream in [own, 0] {
            let handle = StreamHandle::from_number(stream);
            // SAFETY: 1. It is destroyed after the buffer.
            let work_stream = unsafe { WorkStream::borrow(device, handle) }?;
            let buffer = DeviceBuffer::<Cuda>::zeroed_on(work_stream, DataType::U32, 16)?;
            let gate = session.hold(stream);
            session.fill_on(stream, address(&buffer), 5, 16);
            let opener = thread::spawn(move || {
                thread::sleep(Duration::from_millis(20));
                gate.open();
            });
            assert_eq!(buffer.sync_for(StreamArg::unspecified()), Ok(()));
            // SAFETY: the host can read it, it has that many elements, and there are no
            // writes now.
            let first = unsafe { buffer.as_ptr().cast::<u32>().read_volatile() };
            assert_eq!(first, 5, "{device}, stream {stream}");
            opener.join().expect("no panic");
        }
        session.destroy_stream(own);
    }
    Ok(())
}

/// A deleter on a thread that has never called CUDA.
#[test]
fn the_last_owner_may_be_on_any_thread() -> Result<(), Error> {
    let Some(session) = session() else { return Ok(()) };
    let exported = samples().into_dlpack()?;
    thread::spawn(move || drop(exported)).join().expect("no panic");
    let shared = samples();
    let tensors: Vec<_> = (0..8).map(|_| shared.to_dlpack()).collect::<Result<_, _>>()?;
    drop(shared);
    let threads = tensors.into_iter().map(|tensor| thread::spawn(move || drop(tensor)));
    for thread in threads.collect::<Vec<_>>() {
        thread.join().expect("no panic");
    }
    drop(session);
    Ok(())
}

/// A deleter that the end of a thread calls, when its other variables are gone.
#[test]
fn the_last_owner_may_be_a_thread_that_ends() -> Result<(), Error> {
    thread_local! {
        static KEPT: RefCell<Option<ManagedTensor>> = const { RefCell::new(None) };
    }
    let Some(session) = session() else { return Ok(()) };
    let exported = samples().into_dlpack()?;
    let ends = thread::spawn(move || {
        KEPT.set(Some(exported));
        // After the variable above, so it ends before it.
        let current = <(Cpu, Cuda)>::current_work_stream(Device::cuda(0));
        assert!(current.is_ok_and(<*mut c_void>::is_null));
    });
    ends.join().expect("no panic");
    drop(session);
    Ok(())
}

/// The allocation that the exchange table makes for consumers.
#[test]
fn a_set_of_backends_allocates_on_the_current_stream() -> Result<(), Error> {
    let Some(session) = session() else { return Ok(()) };
    let (device, stream) = (Device::cuda(0), session.new_stream());
    // SAFETY: the stream is destroyed after everything that was made meanwhile.
    let entered = unsafe { Cuda::enter_stream(device, StreamHandle::from_number(stream)) }?;
    let gate = session.hold(stream);
    let prototype = Prototype::new(DataType::U32, Dims::of(&[4_i64, 4])?, device)?;
    let tensor = <(Cpu, Cuda)>::allocate(&prototype)?;
    assert_eq!((tensor.device(), tensor.shape()), (device, &[4, 4][..]));
    gate.open();
    let address = tensor.data_ptr().addr();
    assert_eq!(session.read_on(stream, address, 16), [0; 16]);
    drop((tensor, entered));
    session.destroy_stream(stream);
    Ok(())
}

#[test]
fn the_current_stream_is_the_one_this_thread_entered() -> Result<(), Error> {
    let Some(session) = session() else { return Ok(()) };
    let device = Device::cuda(0);
    let current = || <(Cpu, Cuda)>::current_work_stream(device).map(<*mut c_void>::addr);
    assert_eq!(current(), Ok(0));
    let streams = [session.new_stream(), session.new_stream()];
    let [outer, inner] = streams.map(StreamHandle::from_number);
    // SAFETY: destroyed after all uses.
    let first = unsafe { Cuda::enter_stream(device, outer) }?;
    // SAFETY: as above.
    let second = unsafe { Cuda::enter_stream(device, inner) }?;
    assert_eq!(current(), Ok(streams[1]));
    thread::scope(|scope| {
        scope.spawn(|| assert_eq!(current(), Ok(0), "another thread")).join().expect("no panic");
    });
    drop(second);
    assert_eq!(current(), Ok(streams[0]));
    drop(first);
    assert_eq!(current(), Ok(0));
    // SAFETY: refused.
    let per_thread = unsafe { Cuda::enter_stream(device, StreamHandle::from_number(2)) };
    assert!(matches!(per_thread.map(drop), Err(Error::StreamRefused { stream: Some(2), .. })));
    for stream in streams {
        session.destroy_stream(stream);
    }
    Ok(())
}
