use dlpack_traits::backend::{AllocatorOf, Backend, NoStream, StreamHandle, WorkStream};
use dlpack_traits::{Device, Error, ffi};

pub struct Npu;

// SAFETY: it is an example.
unsafe impl Backend for Npu {
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

fn main() {}
