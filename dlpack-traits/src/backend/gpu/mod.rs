//! GPUs: one backend for CUDA and for ROCm, [`Gpu`].
//!
//! Their runtimes have the same functions under other names. What differs is in
//! `cuda` and `rocm`, behind the trait `Vendor`; the vendor's library is loaded
//! when it is needed first.

mod calls;
#[cfg(feature = "cuda")]
mod cuda;
#[cfg(feature = "cudarc")]
mod cudarc;
mod current;
mod memory;
#[cfg(feature = "rocm")]
mod rocm;
mod runtime;
mod stream;

use core::fmt;
use core::marker::PhantomData;

#[cfg(feature = "cuda")]
pub use cuda::{Cuda, CudaDriver};
#[cfg(feature = "rocm")]
pub use rocm::{HipRuntime, Rocm};
use runtime::{Vendor, runtime};
pub use stream::{GpuEvent, GpuStream};

use crate::backend::entered;
use crate::backend::memory::{AllocatorOf, AttributesOf, MemcpyOf};
use crate::backend::{Backend, StreamHandle, StreamRules, WorkStream};
use crate::device::Device;
use crate::error::Error;
use crate::ffi::DLDeviceType;

/// The backend of a vendor's GPUs, and of the memory of the host that its
/// runtime knows: [`Cuda`] and [`Rocm`].
///
/// - The vendor's library is loaded when it is needed first. Without it every
///   call is [`Error::NoLibrary`]; without a GPU, what the library says.
/// - Work is launched on the legacy default stream, or on the one that this thread
///   entered ([`enter`](Self::enter), [`enter_stream`](Self::enter_stream)).
/// - Foreign streams are those of the device's primary context, which is what
///   the vendor's runtime, PyTorch, CuPy and JAX use. Streams of another context
///   are refused. A consumer that names no stream (-1) works in that context too.
/// - A hand-off is an event: it may happen while either stream is captured into a
///   graph, where the graphs of the runtime allow that order at all. Memory that
///   would be freed on a stream while that is captured is kept for ever: the
///   graph uses it at each launch.
/// - Memory of the device is allocated and freed in the order of streams;
///   pinned and managed memory is freed after a wait of the host.
pub struct Gpu<V>(PhantomData<fn() -> V>);

impl<V> fmt::Debug for Gpu<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Gpu")
    }
}

impl<V: Vendor> Gpu<V> {
    /// The number of GPUs; an error where the runtime does not work.
    ///
    /// # Errors
    ///
    /// [`Error::NoLibrary`], and those of the runtime.
    pub fn device_count() -> Result<usize, Error> {
        Ok(runtime::<V>()?.devices)
    }
}

// SAFETY: 1. `current_stream` makes one of that device, and whoever calls
// `borrow_stream` promises that (1); CUDA's are asked for their context too. 2. The
// rules make the numbers of default streams, which are no thread's but for 2 of
// CUDA, whose use the rules confine. 3. Streams do not last, and it says so. 4.
// The runtime waits for all streams of the context, which all streams are of.
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
        let entered = entered::innermost::<Self>(Device::new(V::DEVICE, ordinal));
        let (handle, stream) = match entered {
            Some(entered) => (entered.handle(), entered.stream().clone().of(device)),
            None => (StreamHandle::NULL, GpuStream::new(device, ordinal, StreamHandle::NULL)),
        };
        // SAFETY: 1. NULL is the default stream; any other is kept by what is cloned
        // here, or was promised to last by whoever entered it. 2. It was entered for
        // this GPU.
        Ok(unsafe { WorkStream::new(device, handle, stream) })
    }

    unsafe fn borrow_stream(device: Device, handle: StreamHandle) -> Result<Self::Stream, Error> {
        // SAFETY: 1. By 1.
        unsafe { stream::borrow(device, handle) }
    }
}
