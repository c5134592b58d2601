use dlpack_traits::backend::{Backend, MemoryType, NoStream, WorkStream};
use dlpack_traits::{Device, Error, ffi};

pub struct Npu;

// SAFETY: it is an example.
unsafe impl Backend for Npu {
    const MEMORY_TYPES: &'static [MemoryType] = &[MemoryType::with_handles(ffi::kDLExtDev)];
    type Stream = NoStream;

    fn current_stream(device: Device) -> Result<WorkStream<Self>, Error> {
        Err(Error::NoBackend { device })
    }
}

fn main() {}
