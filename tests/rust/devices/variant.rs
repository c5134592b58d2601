//! Backends over the same device with other guarantees, or broken ones.

use core::cell::Cell;
use core::sync::atomic::{AtomicU8, Ordering};
use std::sync::Arc;

use new_device::Npu;
use new_device::runtime;
use tensors::backend::{Backend, Event, MemoryRange, MemoryType, Stream, StreamHandle, WorkStream};
use tensors::{Device, DriverText, Error};

use super::npu::NPU;

thread_local! {
    /// How often this thread waited for the device.
    static WAITED: Cell<usize> = const { Cell::new(0) };
}

pub(crate) fn waited() -> usize {
    WAITED.get()
}

/// Waits for the streams that the tests of this file's users name.
fn synchronize(_: Device) -> Result<(), Error> {
    WAITED.set(WAITED.get() + 1);
    Stream::synchronize(&runtime::default_stream(0).map_err(|_| FAILED)?)
}

/// Which call fails, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Fault {
    None,
    RecordFails,
    RecordPanics,
    WaitFails,
    FreePanics,
}

/// Changes the behaviour of a stream.
#[derive(Clone, Debug)]
pub(crate) struct Faults(Arc<AtomicU8>);

impl Faults {
    pub(crate) fn set(&self, fault: Fault) {
        self.0.store(fault as u8, Ordering::SeqCst);
    }

    fn is(&self, fault: Fault) -> bool {
        self.0.load(Ordering::SeqCst) == fault as u8
    }
}

/// A stream that can be made to fail.
#[derive(Clone, Debug)]
pub(crate) struct Faulty {
    pub(crate) stream: runtime::Stream,
    pub(crate) faults: Faults,
}

pub(crate) struct Mark(runtime::Event);

const FAILED: Error =
    Error::Device { device: NPU, call: "record", code: 77, text: DriverText::NONE };

// SAFETY: 1. to 11. Where it does not fail, it is the stream inside.
unsafe impl Stream for Faulty {
    type Event = Mark;

    const IN_ORDER: bool = true;
    const GRAPHS: bool = false;

    fn record(&self) -> Result<Mark, Error> {
        assert!(!self.faults.is(Fault::RecordPanics), "the test makes record panic");
        if self.faults.is(Fault::RecordFails) {
            Err(FAILED)
        } else {
            Ok(Mark(self.stream.record()))
        }
    }

    fn wait(&self, mark: &Mark) -> Result<(), Error> {
        if self.faults.is(Fault::WaitFails) {
            return Err(FAILED);
        }
        self.stream.wait(&mark.0);
        Ok(())
    }

    fn synchronize(&self) -> Result<(), Error> {
        Stream::synchronize(&self.stream)
    }
}

// SAFETY: 1. As of the event inside.
unsafe impl Event for Mark {}

/// `LAST`: whether borrowed streams may be kept. `SYNC`: whether the device can
/// be waited for. `MEMORY`: whether it allocates.
pub(crate) struct Variant<const LAST: bool, const SYNC: bool, const MEMORY: bool = true>;

// SAFETY: 1. to 3. As for `Npu`, which guarantees more than this type may promise. 4. is
// violated on purpose: the tests count the calls. 8. As of `Npu`.
unsafe impl<const LAST: bool, const SYNC: bool, const MEMORY: bool> Backend
    for Variant<LAST, SYNC, MEMORY>
{
    const MEMORY_TYPES: &'static [MemoryType] = Npu::MEMORY_TYPES;
    const STREAMS_LAST: bool = LAST;
    const SYNCHRONIZE_DEVICE: Option<fn(Device) -> Result<(), Error>> =
        if SYNC { Some(synchronize) } else { None };
    type Stream = Faulty;

    fn current_stream(device: Device) -> Result<WorkStream<Self>, Error> {
        let stream = WorkStream::<Npu>::current(device)?;
        let faulty = Faulty { stream: stream.stream().clone(), faults: none() };
        // SAFETY: 1. and 2. As of the stream inside.
        Ok(unsafe { WorkStream::new(device, stream.handle(), faulty) })
    }

    unsafe fn borrow_stream(device: Device, handle: StreamHandle) -> Result<Faulty, Error> {
        // SAFETY: 1. By 1.
        let stream = unsafe { Npu::borrow_stream(device, handle) }?;
        Ok(Faulty { stream, faults: none() })
    }

    fn allocate(stream: &WorkStream<Self>, byte_len: usize) -> Result<MemoryRange, Error> {
        if !MEMORY {
            return Err(Error::Unsupported { device: stream.device(), what: "allocator" });
        }
        Npu::allocate(&inside(stream), byte_len)
    }

    unsafe fn deallocate(stream: &WorkStream<Self>, memory: MemoryRange) -> Result<(), Error> {
        assert!(!stream.stream().faults.is(Fault::FreePanics), "the test makes free panic");
        // SAFETY: 1. and 2. By 1. and 2.
        unsafe { Npu::deallocate(&inside(stream), memory) }
    }
}

fn none() -> Faults {
    Faults(Arc::new(AtomicU8::new(Fault::None as u8)))
}

fn inside<B: Backend<Stream = Faulty>>(stream: &WorkStream<B>) -> WorkStream<Npu> {
    let inner = stream.stream().stream.clone();
    // SAFETY: 1. and 2. As of the stream around it.
    unsafe { WorkStream::new(stream.device(), stream.handle(), inner) }
}
