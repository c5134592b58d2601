use std::cell::Cell;

use dlpack_traits::backend::{AllocatorOf, Backend, Backends, Cpu, DeviceBuffer, NoStream, Stream, StreamHandle, WorkStream};
use dlpack_traits::{DataType, Device, Error, ffi};

pub struct NpuAllocatorClaimed;

// SAFETY: it is an example.
unsafe impl Backend for NpuAllocatorClaimed {
    const DEVICE_TYPES: &'static [ffi::DLDeviceType] = &[ffi::kDLExtDev];
    type Stream = NoStream;
    const ALLOCATOR: Option<AllocatorOf<Self>> = Some(AllocatorOf::THIS);

    fn current_stream(device: Device) -> Result<WorkStream<Self>, Error> {
        Err(Error::NoBackend { device })
    }

    unsafe fn borrow_stream(_: Device, _: StreamHandle) -> Result<NoStream, Error> {
        Ok(NoStream)
    }
}

pub struct NpuAllocatorMissing;

// SAFETY: it is an example.
unsafe impl Backend for NpuAllocatorMissing {
    const DEVICE_TYPES: &'static [ffi::DLDeviceType] = &[ffi::kDLExtDev];
    type Stream = NoStream;

    fn current_stream(device: Device) -> Result<WorkStream<Self>, Error> {
        Err(Error::NoBackend { device })
    }

    unsafe fn borrow_stream(_: Device, _: StreamHandle) -> Result<NoStream, Error> {
        Ok(NoStream)
    }
}

pub fn allocates(device: Device) {
    let _ = DeviceBuffer::<NpuAllocatorMissing>::zeroed(device, DataType::F32, 4);
}

#[derive(Clone)]
pub struct QueueEventIsNone;

pub struct Mark;

// SAFETY: it is an example.
unsafe impl Stream for QueueEventIsNone {
    type Event = Mark;

    fn record(&self) -> Result<Mark, Error> {
        Ok(Mark)
    }

    fn wait(&self, _: &Mark) -> Result<(), Error> {
        Ok(())
    }

    fn synchronize(&self) -> Result<(), Error> {
        Ok(())
    }
}

pub struct Npu;

fn serves<Set: Backends>() {}

pub fn forgot_to_implement_it() {
    serves::<(Cpu, Npu)>();
}

#[derive(Clone)]
pub struct QueueStreamOfOneThread(Cell<u8>);

// SAFETY: it is an example.
unsafe impl Stream for QueueStreamOfOneThread {
    type Event = NoStream;

    fn record(&self) -> Result<NoStream, Error> {
        Ok(NoStream)
    }

    fn wait(&self, _: &NoStream) -> Result<(), Error> {
        Ok(())
    }

    fn synchronize(&self) -> Result<(), Error> {
        Ok(())
    }
}

fn main() {}
