//! GPUs: [`Gpu`], one backend for CUDA and for ROCm.
//!
//! Both runtimes have the same functions under different names. The differences are in
//! `cuda` and `rocm`, behind the trait `Vendor`. The vendor's library is lazily loaded.

#[cfg(feature = "cuda")]
mod after_all_work;
#[cfg(feature = "cuda")]
mod cuda;
#[cfg(feature = "cudarc")]
mod cudarc;
#[cfg(feature = "cudarc")]
mod cudarc_borrowed;
mod current;
mod memory;
#[cfg(feature = "rocm")]
mod rocm;
mod stream;
mod sys;
mod vendor;

use core::fmt;
use core::marker::PhantomData;

#[cfg(feature = "cuda")]
pub use cuda::{Cuda, CudaDriver};
#[cfg(feature = "rocm")]
pub use rocm::{HipRuntime, Rocm};
pub use stream::{GpuEvent, GpuStream};
use vendor::{Vendor, runtime};

use crate::backend::backend_trait::{AllocatorOf, AttributesOf, MemcpyOf};
use crate::backend::stream_guard;
use crate::backend::{Backend, StreamHandle, StreamRules, WorkStream};
use crate::device::Device;
use crate::error::Error;
use crate::ffi::DLDeviceType;

/// The backend of a vendor's GPUs, and of host memory that its runtime allocates: [`Cuda`]
/// and [`Rocm`].
///
/// - The vendor's library is lazily loaded. Without it every call returns
///   [`Error::NoLibrary`]; without a GPU, the error of the library.
/// - Work is launched on the legacy default stream, or on the stream that this thread
///   entered ([`enter`](Self::enter), [`enter_stream`](Self::enter_stream)).
/// - Foreign streams must be of the device's primary context, which the vendor's runtime,
///   PyTorch, CuPy and JAX use. Streams of another context are rejected. A consumer that
///   requests no synchronization (-1) is assumed to work in that context too.
/// - Streams are synchronized by an event. This is allowed while either stream is captured
///   into a graph, if the graphs of the runtime can express that order. Memory that would
///   be freed on a stream that is being captured is leaked: the graph uses it at each
///   launch.
/// - Device memory is allocated and freed in the order of streams; pinned and managed
///   memory is freed after a wait on the host.
pub struct Gpu<V>(PhantomData<fn() -> V>);

impl<V> fmt::Debug for Gpu<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Gpu")
    }
}

impl<V: Vendor> Gpu<V> {
    /// The number of GPUs; an error if the runtime does not work.
    ///
    /// # Errors
    ///
    /// [`Error::NoLibrary`], and those of the runtime.
    pub fn device_count() -> Result<usize, Error> {
        Ok(runtime::<V>()?.devices)
    }
}

// SAFETY: 1. `current_stream` makes a stream of that device, and the caller of
// `borrow_stream` promises that the handle is one (1); for CUDA, the context of the stream
// is checked too. 2. The rules turn numbers only into default streams, which are the same
// on every thread except for 2 of CUDA, which the rules only use on the calling thread. 3.
// `STREAMS_LAST` is false. 4. The runtime waits for all streams of the primary context, to
// which all streams belong.
unsafe impl<V: Vendor> Backend for Gpu<V> {
    const DEVICE_TYPES: &'static [DLDeviceType] = V::DEVICE_TYPES;
    const RULES: StreamRules = V::RULES;
    const STREAMS_LAST: bool = false;
    const SYNCHRONIZE_DEVICE: Option<fn(Device) -> Result<(), Error>> =
        Some(stream::synchronize_device::<V>);
    const ALLOCATOR: Option<AllocatorOf<Self>> = Some(AllocatorOf::THIS);
    const MEMCPY: Option<MemcpyOf<Self>> = Some(MemcpyOf::THIS);
    const ATTRIBUTES: Option<AttributesOf<Self>> = Some(AttributesOf::THIS);
    type Stream = GpuStream<V>;

    fn current_stream(device: Device) -> Result<WorkStream<Self>, Error> {
        let ordinal = runtime::<V>()?.ordinal(device)?;
        let entered = stream_guard::innermost::<Self>(Device::new(V::DEVICE, ordinal));
        let (handle, stream) = match entered {
            Some(entered) => (entered.handle(), entered.stream().clone().of(device)),
            None => (StreamHandle::NULL, GpuStream::new(device, ordinal, StreamHandle::NULL)),
        };
        // SAFETY: 1. NULL is the default stream; any other is kept alive by the clone, or
        // the caller that entered it promised that it lasts. 2. It was entered for this
        // GPU.
        Ok(unsafe { WorkStream::new(device, handle, stream) })
    }

    unsafe fn borrow_stream(device: Device, handle: StreamHandle) -> Result<Self::Stream, Error> {
        // SAFETY: 1. By our caller's 1.
        unsafe { stream::borrow(device, handle) }
    }
}
