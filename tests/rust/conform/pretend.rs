//! A device with a planted fault: the accelerator of `examples/new-device`, whose index says which
//! fault it has. Two devices, with indices that follow each other, have the same one.

use core::ffi::c_void;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicBool, Ordering};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, ThreadId};

use new_device::Npu;
use new_device::runtime::{self, Address};
use tensors::backend::testing::Gate;
use tensors::backend::{
    Attributes, Backend, MemoryRange, MemoryRef, MemoryType, Stream, StreamHandle, WorkStream,
};
use tensors::{Device, Error, ffi};

macro_rules! faults {
    ($($fault:ident)+) => {
        /// What is wrong with a device.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Fault {
            $($fault,)+
        }

        const FAULTS: &[Fault] = &[$(Fault::$fault,)+];
    };
}

faults! {
    None NoSynchronize NoRecord NoWait RecordBlocks WaitBlocks WaitHangs AllSame CloneOutOfOrder
    FreesEarly ZerosElsewhere NoZeros NoOffset NoDeviceWait OmitsClosed WrongHandle BorrowsAnother
    BorrowDies WrongAttributes HostIsDevice OtherDevice AnyDevice Panics OneThread HidesCapture
    HidesFailure HangsAfterShutdown SharesMemory Misaligned
    HandleIsRead
}

/// The first device with that fault.
pub(crate) fn device(fault: Fault) -> Device {
    Device::new(ffi::kDLExtDev, fault as i32 * 2)
}

/// The fault of a device, and its number in the runtime.
fn fault_of(device: Device) -> Result<(Fault, usize), Error> {
    let id = usize::try_from(device.device_id()).unwrap_or(usize::MAX);
    let fault = FAULTS.get(id / 2).filter(|_| device.device_type() == ffi::kDLExtDev);
    fault.map(|&fault| (fault, id % 2)).ok_or(Error::NoBackend { device })
}

pub(crate) struct Pretend;

/// A queue, whether it is open or not.
struct Queue {
    device: Device,
    fault: Fault,
    inner: runtime::Stream,
    maker: ThreadId,
    captured: AtomicBool,
    /// Owned by open handles.
    open: Weak<()>,
}

/// All queues of a device, whose work the device waits for.
static QUEUES: Mutex<Vec<Arc<Queue>>> = Mutex::new(Vec::new());
/// The default stream of each device, and another one.
static DEFAULTS: Mutex<BTreeMap<i32, [PretendStream; 2]>> = Mutex::new(BTreeMap::new());
/// The first allocation of a device that has no other memory.
static FIRST: Mutex<BTreeMap<i32, Address>> = Mutex::new(BTreeMap::new());
static SHUT: Mutex<Vec<i32>> = Mutex::new(Vec::new());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Holds a queue of the runtime back.
pub(crate) fn hold(stream: &runtime::Stream) -> Gate {
    let gate = runtime::Event::of_host();
    stream.wait(&gate);
    Box::new(move || gate.set())
}

pub(crate) struct PretendStream {
    queue: Arc<Queue>,
    owner: Option<Arc<()>>,
}

impl Clone for PretendStream {
    fn clone(&self) -> Self {
        if self.queue.fault == Fault::CloneOutOfOrder {
            return Self::new(self.queue.device).unwrap();
        }
        Self { queue: Arc::clone(&self.queue), owner: self.owner.clone() }
    }
}

impl PretendStream {
    fn new(device: Device) -> Result<Self, Error> {
        let (fault, index) = fault_of(device)?;
        let index = if fault == Fault::OtherDevice { 0 } else { index };
        let inner = runtime::Stream::new(index).map_err(|_| Error::NoBackend { device })?;
        let (open, maker) = (Arc::new(()), thread::current().id());
        let (captured, weak) = (AtomicBool::new(false), Arc::downgrade(&open));
        let queue = Arc::new(Queue { device, fault, inner, maker, captured, open: weak });
        lock(&QUEUES).push(Arc::clone(&queue));
        Ok(Self { queue, owner: Some(open) })
    }

    pub(crate) fn inner(&self) -> &runtime::Stream {
        &self.queue.inner
    }

    pub(crate) fn capture(&self) -> Gate {
        self.queue.captured.store(true, Ordering::SeqCst);
        let queue = Arc::clone(&self.queue);
        Box::new(move || queue.captured.store(false, Ordering::SeqCst))
    }

    /// Work on memory that does not exist.
    pub(crate) fn fail(&self) {
        self.inner().fill(Address::from_ptr(ptr::without_provenance_mut(64)), 0..4, 1.0);
    }

    fn work_stream(self, handle: usize) -> WorkStream<Pretend> {
        let device = self.queue.device;
        // SAFETY: 1. and 2. By the fault, if that is not another one.
        unsafe { WorkStream::new(device, StreamHandle::from_number(handle), self) }
    }

    /// Fails on other threads than that of the creation, if that is the fault.
    fn check_thread(&self) -> Result<(), Error> {
        let Queue { fault, maker, .. } = *self.queue;
        if fault == Fault::OneThread && maker != thread::current().id() {
            return Err(Error::Custom("no context is current"));
        }
        Ok(())
    }
}

impl Pretend {
    pub(crate) fn new_stream(device: Device) -> Result<WorkStream<Self>, Error> {
        let stream = PretendStream::new(device)?;
        let handle = stream.inner().handle();
        Ok(stream.work_stream(handle))
    }

    pub(crate) fn shutdown(device: Device) {
        lock(&SHUT).push(device.device_id());
    }

    /// Ends the threads of both devices.
    pub(crate) fn forget(first: Device) {
        let is_of = |id: i32| id / 2 == first.device_id() / 2;
        lock(&QUEUES).retain(|queue| !is_of(queue.device.device_id()));
        lock(&DEFAULTS).retain(|&id, _| !is_of(id));
    }
}

fn defaults(device: Device) -> Result<[PretendStream; 2], Error> {
    fault_of(device)?;
    if let Some(found) = lock(&DEFAULTS).get(&device.device_id()) {
        return Ok(found.clone());
    }
    let made = [PretendStream::new(device)?, PretendStream::new(device)?];
    Ok(lock(&DEFAULTS).entry(device.device_id()).or_insert(made).clone())
}

/// Waits for the queues of a device.
fn synchronize(device: Device) -> Result<(), Error> {
    let (fault, _) = fault_of(device)?;
    let queues: Vec<_> = lock(&QUEUES).iter().map(Arc::clone).collect();
    for queue in queues.iter().filter(|queue| queue.device == device) {
        let closed = queue.open.strong_count() == 0;
        if fault == Fault::NoDeviceWait || closed && fault == Fault::OmitsClosed {
            continue;
        }
        Stream::synchronize(&queue.inner)?;
    }
    Ok(())
}

// SAFETY: 1. to 11. As of the stream inside, if the device has no fault.
unsafe impl Stream for PretendStream {
    type Event = runtime::Event;

    const IN_ORDER: bool = true;
    const GRAPHS: bool = true;

    fn record(&self) -> Result<runtime::Event, Error> {
        self.check_thread()?;
        let closed = self.queue.open.strong_count() == 0;
        match self.queue.fault {
            Fault::RecordBlocks => Stream::synchronize(self.inner())?,
            fault if fault == Fault::NoRecord || closed && fault == Fault::BorrowDies => {
                let event = runtime::Event::of_host();
                event.set();
                return Ok(event);
            }
            _ => {}
        }
        Ok(self.inner().record())
    }

    fn wait(&self, event: &runtime::Event) -> Result<(), Error> {
        self.check_thread()?;
        match self.queue.fault {
            Fault::NoWait => return Ok(()),
            Fault::WaitBlocks => {
                let other = runtime::Stream::new(0).unwrap();
                other.wait(event);
                Stream::synchronize(&other)?;
            }
            Fault::WaitHangs => self.inner().wait(&runtime::Event::of_host()),
            _ => {}
        }
        self.inner().wait(event);
        Ok(())
    }

    fn synchronize(&self) -> Result<(), Error> {
        self.check_thread()?;
        match self.queue.fault {
            Fault::NoSynchronize => Ok(()),
            Fault::HidesFailure => Ok(_ = Stream::synchronize(self.inner())),
            _ => Stream::synchronize(self.inner()),
        }
    }

    fn is_captured(&self) -> Result<bool, Error> {
        let captured = self.queue.captured.load(Ordering::SeqCst);
        Ok(captured && self.queue.fault != Fault::HidesCapture)
    }

    fn is_same(&self, other: &Self) -> Option<bool> {
        let all = self.queue.fault == Fault::AllSame;
        let clones = self.queue.fault == Fault::CloneOutOfOrder;
        (!clones).then(|| all || Arc::ptr_eq(&self.queue, &other.queue))
    }
}

// SAFETY: 1. to 8. As of `Npu`, if the device has no fault; 4. the device waits for all queues
// that exist or existed.
unsafe impl Backend for Pretend {
    const MEMORY_TYPES: &'static [MemoryType] = &[MemoryType::with_handles(ffi::kDLExtDev)];
    const STREAMS_LAST: bool = true;
    const SYNCHRONIZE_DEVICE: Option<fn(Device) -> Result<(), Error>> = Some(synchronize);
    type Stream = PretendStream;

    fn current_stream(device: Device) -> Result<WorkStream<Self>, Error> {
        if device.device_id() == i32::MAX {
            let planted = |fault: Fault| lock(&QUEUES).iter().any(|queue| queue.fault == fault);
            assert!(!planted(Fault::Panics), "the device does not exist");
            if planted(Fault::AnyDevice) {
                return Pretend::new_stream(self::device(Fault::AnyDevice));
            }
        }
        if lock(&SHUT).contains(&device.device_id()) {
            while fault_of(device)?.0 == Fault::HangsAfterShutdown {
                thread::park();
            }
            return Err(Error::NoBackend { device });
        }
        let [stream, other] = defaults(device)?;
        let wrong = stream.queue.fault == Fault::WrongHandle;
        let handle = if wrong { &other } else { &stream }.inner().handle();
        Ok(stream.work_stream(handle))
    }

    unsafe fn borrow_stream(device: Device, handle: StreamHandle) -> Result<PretendStream, Error> {
        let (fault, _) = fault_of(device)?;
        if fault == Fault::BorrowsAnother {
            return Ok(defaults(device)?[1].clone());
        }
        let queues = lock(&QUEUES);
        let named = |queue: &&Arc<Queue>| queue.inner.handle() == handle.number();
        let queue = queues.iter().find(named).ok_or(Error::NoBackend { device })?;
        let open = queue.open.upgrade().filter(|_| fault != Fault::BorrowDies);
        Ok(PretendStream { queue: Arc::clone(queue), owner: open })
    }

    fn allocate(stream: &WorkStream<Self>, byte_len: usize) -> Result<MemoryRange, Error> {
        let fault = stream.stream().queue.fault;
        let before = if fault == Fault::Misaligned { 4 } else { 0 };
        let memory = Npu::allocate(&inside(stream), byte_len.saturating_add(before))?;
        let address = Address::from_ptr(memory.data.as_ptr());
        if fault == Fault::SharesMemory {
            let first = *lock(&FIRST).entry(stream.device().device_id()).or_insert(address);
            let data = NonNull::new(first.as_ptr()).unwrap();
            return Ok(MemoryRange::new(data, byte_len));
        }
        if matches!(fault, Fault::NoZeros | Fault::ZerosElsewhere) {
            let other = runtime::Stream::new(stream.stream().inner().device()).unwrap();
            other.fill(address, 0..byte_len, 7.5);
            Stream::synchronize(&other)?;
        }
        if fault == Fault::ZerosElsewhere {
            defaults(stream.device())?[0].inner().fill(address, 0..byte_len, 0.0);
        }
        Ok(MemoryRange { byte_offset: before, byte_len, ..memory })
    }

    unsafe fn deallocate(stream: &WorkStream<Self>, memory: MemoryRange) -> Result<(), Error> {
        if stream.stream().queue.fault == Fault::SharesMemory {
            return Ok(());
        }
        if stream.stream().queue.fault == Fault::FreesEarly {
            let other = runtime::Stream::new(stream.stream().inner().device()).unwrap();
            other.free(Address::from_ptr(memory.data.as_ptr()));
            return Stream::synchronize(&other);
        }
        // SAFETY: 1. and 2. By 1. and 2.
        unsafe { Npu::deallocate(&inside(stream), memory) }
    }

    unsafe fn copy(
        stream: &WorkStream<Self>,
        from: MemoryRef,
        to: MemoryRef,
        byte_len: usize,
    ) -> Result<(), Error> {
        let inner = inside(stream);
        let inside = |place: MemoryRef| {
            let on_host = place.device == Device::CPU;
            let device = if on_host { Device::CPU } else { inner.device() };
            let ignored = !on_host && stream.stream().queue.fault == Fault::NoOffset;
            let byte_offset = if ignored { 0 } else { place.byte_offset };
            MemoryRef { device, byte_offset, ..place }
        };
        // SAFETY: 1. By 1.
        unsafe { Npu::copy(&inner, inside(from), inside(to), byte_len) }
    }

    fn attributes(data: *const c_void, hint: Device) -> Result<Attributes, Error> {
        let (fault, _) = fault_of(hint)?;
        let known = match runtime::device_of(Address::from_ptr(data.cast_mut())) {
            Some(index) => index,
            None if fault == Fault::HostIsDevice => 0,
            None => return Err(Error::NoBackend { device: hint }),
        };
        let index = if fault == Fault::WrongAttributes { 1 - known } else { known };
        let id = device(fault).device_id() + i32::try_from(index).unwrap();
        let host_accessible = fault == Fault::HandleIsRead;
        Ok(Attributes { device: Device::new(ffi::kDLExtDev, id), host_accessible })
    }
}

/// The stream as one of the accelerator.
fn inside(stream: &WorkStream<Pretend>) -> WorkStream<Npu> {
    let inner = stream.stream().inner().clone();
    let device = Device::new(ffi::kDLExtDev, i32::try_from(inner.device()).unwrap());
    // SAFETY: 1. and 2. It is a stream of that device.
    unsafe { WorkStream::new(device, StreamHandle::from_number(inner.handle()), inner) }
}
