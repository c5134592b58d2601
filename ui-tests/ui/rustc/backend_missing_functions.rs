use dlpack_traits::backend::{Backend, NoStream, WorkStream};
use dlpack_traits::{Device, Error, ffi};

pub struct Npu;

// SAFETY: it is an example.
unsafe impl Backend for Npu {
    const DEVICE_TYPES: &'static [ffi::DLDeviceType] = &[ffi::kDLExtDev];
    type Stream = NoStream;

    fn current_stream(device: Device) -> Result<WorkStream<Self>, Error> {
        Err(Error::NoBackend { device })
    }
}

fn main() {}
