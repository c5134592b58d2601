//! GPUs: [`Gpu`], one backend for CUDA and for ROCm.
//!
//! Both runtimes have the same functions under different names. The differences are in
//! `cuda` and `rocm`, behind the trait `Vendor`. The vendor's library is lazily loaded.

#[cfg(feature = "cuda")]
mod cuda;
#[cfg(feature = "cudarc")]
mod cudarc;
mod memory;
#[cfg(feature = "rocm")]
mod rocm;
mod stream;
mod vendor;

use alloc::sync::Arc;
use core::any::Any;
use core::ffi::c_void;
use core::fmt;
use core::marker::PhantomData;

#[cfg(feature = "cuda")]
pub use cuda::{Cuda, CudaDriver};
use memory::StreamCall;
#[cfg(feature = "rocm")]
pub use rocm::{HipRuntime, Rocm};
pub use stream::{GpuEvent, GpuStream};
use vendor::{AllWork, Calls, Vendor, runtime};

use crate::backend::frees::run_blocking;
use crate::backend::memory::Direction;
use crate::backend::stream_guard::{self, StreamGuard};
use crate::backend::{
    Attributes, Backend, Backends as _, MemoryRange, MemoryRef, MemoryType, StreamHandle,
    StreamRules, WorkStream,
};
use crate::device::Device;
use crate::error::Error;

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

    /// A stream of another library, which `owner` keeps alive.
    ///
    /// # Errors
    ///
    /// [`Error::NoBackend`], [`Error::StreamRefused`] for CUDA's per-thread default stream,
    /// which is a different stream on every thread, and those of the runtime.
    ///
    /// # Safety
    ///
    /// 1. `handle` names a stream of `device` as long as `owner`, or a clone of it,
    ///    lives.
    pub unsafe fn stream_kept_by(
        device: Device,
        handle: StreamHandle,
        owner: Arc<dyn Any + Send + Sync>,
    ) -> Result<WorkStream<Self>, Error> {
        refuse_per_thread(device, handle)?;
        // SAFETY: 1. By our caller's 1, as `owner` is kept with the result.
        let stream = unsafe { stream::borrow::<V>(device, handle) }?.kept_by(owner);
        // SAFETY: 1. By our caller's 1, as `stream` keeps `owner`. 2. `borrow` checked it.
        Ok(unsafe { WorkStream::new(device, handle, stream) })
    }

    /// Makes the stream the current one of this thread, until the guard is dropped: new
    /// memory is allocated for it, and consumers work on it too (`current_work_stream`). It
    /// also becomes the current stream for pinned and managed memory of its GPU.
    #[expect(clippy::needless_pass_by_value, reason = "the thread keeps it, as on all backends")]
    pub fn enter(stream: WorkStream<Self>) -> StreamGuard {
        let (handle, stream) = (stream.handle(), stream.stream().of_gpu());
        // SAFETY: 1. and 2. It is the same stream, which keeps the same owner, with the
        // device of its GPU.
        stream_guard::enter(unsafe { WorkStream::<Self>::new(stream.device, handle, stream) })
    }

    /// [`enter`](Self::enter) for a handle without an owner.
    ///
    /// # Errors
    ///
    /// [`Error::NoBackend`], [`Error::StreamRefused`] for CUDA's per-thread default stream,
    /// which is a different stream on every thread, and those of the runtime.
    ///
    /// # Safety
    ///
    /// 1. `handle` names a stream of `device`, and does so until the guard is
    ///    dropped, and so is every stream and buffer that this thread got, and every
    ///    buffer and tensor that it handed off, meanwhile.
    pub unsafe fn enter_stream(device: Device, handle: StreamHandle) -> Result<StreamGuard, Error> {
        refuse_per_thread(device, handle)?;
        // SAFETY: 1. By our caller's 1.
        let stream = unsafe { stream::borrow::<V>(device, handle) }?;
        // SAFETY: 1. By our caller's 1. 2. `borrow` checked it.
        Ok(Self::enter(unsafe { WorkStream::new(device, handle, stream) }))
    }
}

/// Rejects the handle of CUDA's per-thread default streams. On ROCm it does not name a
/// stream.
fn refuse_per_thread(device: Device, handle: StreamHandle) -> Result<(), Error> {
    let rule = "name a stream that was created";
    if handle.number() == 2 {
        return Err(Error::StreamRefused { device, stream: Some(2), rule });
    }
    Ok(())
}

// SAFETY: 1. `current_stream` makes a stream of that device, and the caller of
// `borrow_stream` promises that the handle is one (1); for CUDA, the context of the stream
// is checked too. 2. The rules turn numbers only into default streams, which are the same
// on every thread except for 2 of CUDA, which the rules only use on the calling thread. 3.
// `STREAMS_LAST` is false. 4. The runtime waits for all streams of the primary context, to
// which all streams belong. 8. By the documentation of both runtimes:
// `allocate`: 1. The memory is new, and aligned to 256 bytes. 2. Zeros are written in the order
// of the stream, or at once.
// `deallocate`: 1. to 3. `StreamCall::free` frees in that order, or after a wait for the stream,
// with the GPU current; `deallocate_after_all` after all work of the context, or after a wait
// for it.
// `copy`: 1. Exactly `byte_len` bytes are copied, in the order of the stream. 2. One call
// enqueues, and it is the last that can fail.
// `attributes`: 1. The runtimes document it.
// 9. All memory has addresses; the processor reads pinned and managed memory.
unsafe impl<V: Vendor> Backend for Gpu<V> {
    const MEMORY_TYPES: &'static [MemoryType] = V::MEMORY_TYPES;
    const RULES: StreamRules = V::RULES;
    const STREAM_METHOD: Option<&'static str> = V::STREAM_METHOD;
    const STREAMS_LAST: bool = false;
    const SYNCHRONIZE_DEVICE: Option<fn(Device) -> Result<(), Error>> =
        Some(stream::synchronize_device::<V>);
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

    fn allocate(stream: &WorkStream<Self>, byte_len: usize) -> Result<MemoryRange, Error> {
        let work = StreamCall::on(stream.stream())?;
        let data = work.allocate(byte_len)?;
        if let Err(error) = work.fill_with_zeros(data, byte_len) {
            // SAFETY: 1. It was just allocated. 2. No other code has the address. A second
            // error adds no information.
            let _ = unsafe { work.free(data) };
            return Err(error);
        }
        Ok(MemoryRange::new(data, byte_len))
    }

    fn allocate_uninit(stream: &WorkStream<Self>, byte_len: usize) -> Result<MemoryRange, Error> {
        let data = StreamCall::on(stream.stream())?.allocate(byte_len)?;
        Ok(MemoryRange::new(data, byte_len))
    }

    unsafe fn deallocate(stream: &WorkStream<Self>, memory: MemoryRange) -> Result<(), Error> {
        let work = StreamCall::on(stream.stream())?;
        work.refuse_capture("way to free in the order of a stream that is captured")?;
        // SAFETY: 1. and 2. By our caller's 1 and 2.
        unsafe { work.free(memory.data) }
    }

    unsafe fn deallocate_after_all(
        stream: &WorkStream<Self>,
        memory: MemoryRange,
    ) -> Result<(), Error> {
        let work = StreamCall::on(stream.stream())?;
        work.refuse_capture("way to free in the order of a stream that is captured")?;
        let (calls, device) = (&work.runtime.calls, work.device());
        let all = if work.frees_in_order() {
            V::all_work(work.runtime, device, work.on.ordinal)
        } else {
            AllWork::Unknown
        };
        if let AllWork::Before(stream) = all {
            let stream = GpuStream::<V>::new(device, work.on.ordinal, stream);
            // SAFETY: 1. By our caller's 1. By our caller's 2 all work on it was enqueued before
            // this, and `stream` waits for that.
            return unsafe { calls.free_in_order(device, memory.data.as_ptr(), stream.get()) };
        }
        drop(work);
        if all == AllWork::Unknown {
            run_blocking(|| stream::synchronize_device::<V>(device))?;
        }
        // SAFETY: 1. By our caller's 1. 2. By our caller's 2, all work on it is done.
        unsafe { Self::deallocate(stream, memory) }
    }

    unsafe fn copy(
        stream: &WorkStream<Self>,
        from: MemoryRef,
        to: MemoryRef,
        byte_len: usize,
    ) -> Result<(), Error> {
        let (source, target) = (from.address().cast(), to.address().cast());
        let what = "copy by this vendor's GPUs";
        let work = StreamCall::on(stream.stream())?;
        // A graph would repeat the copy at each launch, when the host memory may be freed.
        work.refuse_capture("copy on a stream while it is captured")?;
        let (calls, device, stream) = (&work.runtime.calls, work.device(), work.on.get());
        let copy = match Direction::of(&from, &to, Self::serves, what)? {
            Direction::OnDevice => Calls::copy_on_device,
            Direction::ToHost => Calls::copy_to_host,
            Direction::FromHost => Calls::copy_to_device,
        };
        // SAFETY: 1. By our caller's 1; the stream is alive.
        unsafe { copy(calls, device, target, source, byte_len, stream) }
    }

    fn attributes(data: *const c_void, hint: Device) -> Result<Attributes, Error> {
        let known = V::attributes(runtime::<V>()?, data.cast_mut(), hint)?;
        known.ok_or(Error::NoBackend { device: hint })
    }
}
