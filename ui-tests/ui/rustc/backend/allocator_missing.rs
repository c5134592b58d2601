use dlpack_traits::backend::{Backend, DeviceBuffer, NoStream, StreamHandle, WorkStream};
use dlpack_traits::{DataType, Device, Error, ffi};

pub struct Npu;

// SAFETY: it is an example.
unsafe impl Backend for Npu {
    const DEVICE_TYPES: &'static [ffi::DLDeviceType] = &[ffi::kDLExtDev];
    type Stream = NoStream;

    fn current_stream(device: Device) -> Result<WorkStream<Self>, Error> {
        Err(Error::NoBackend { device })
    }

    unsafe fn borrow_stream(_: Device, _: StreamHandle) -> Result<NoStream, Error> {
        Ok(NoStream)
    }
}

fn main() {}

pub fn allocates(device: Device) {
    let _ = DeviceBuffer::<Npu>::zeroed(device, DataType::F32, 4);
}
