//! What a device's runtime can do, as a type: [`Backend`].

use super::memory::{AllocatorOf, AttributesOf, MemcpyOf};
use super::{Prototype, Stream, StreamHandle, StreamRules, WorkStream};
use crate::device::Device;
use crate::error::Error;
use crate::ffi::DLDeviceType;
use crate::managed::ManagedTensor;

/// The runtime of one family of devices, as a type without values.
///
/// A new device needs five functions: two here, and three of its
/// [`Stream`]; and a constant, [`STREAMS_LAST`](Self::STREAMS_LAST), where streams are counted.
/// Everything else has a default; what is named in a constant
/// (`Some(AllocatorOf::THIS)`) is a trait that the backend implements besides.
///
/// | to | implement |
/// |---|---|
/// | export tensors | `Backend` and `Stream` |
/// | be allocated for, by consumers and [`DeviceBuffer`](super::DeviceBuffer) | [`Allocator`](super::Allocator) |
/// | be copied to the host | [`Memcpy`](super::Memcpy) |
/// | check foreign pointers | [`PointerAttributes`](super::PointerAttributes) |
///
/// All functions may be called from any thread, at the same time. They report
/// what goes wrong as an [`Error`], which for the device's own codes is
/// [`Error::Device`]. A machine without the device, or without its library, is
/// an error like any other.
///
/// # Safety
///
/// 1. [`current_stream`](Self::current_stream) and
///    [`borrow_stream`](Self::borrow_stream) return streams of the device they
///    were asked for.
/// 2. A number that [`RULES`](Self::RULES) turns into a stream is a handle that
///    `borrow_stream` takes, from any thread, for as long as the process lives.
/// 3. Where [`STREAMS_LAST`](Self::STREAMS_LAST) is true, a stream that `borrow_stream`
///    returned may be used for as long as it is kept, whatever becomes of the handle: it
///    holds a reference of its own.
/// 4. When [`SYNCHRONIZE_DEVICE`](Self::SYNCHRONIZE_DEVICE) returns `Ok`, all
///    work that had been enqueued on any stream of the device is done.
/// 5. Where [`RULES`](Self::RULES) have no streams, work is done when the call returns that
///    asks for it.
/// 6. Where the processor can follow the addresses of a device, as those of unified memory,
///    the rules have [`Meaning::Host`](super::Meaning::Host) for a consumer that names no
///    stream, or [`StreamRules::may_be_read_at_once`] is true of the device: such a consumer
///    may be a library of the host, which reads at once.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the backend of a device",
    label = "not a `Backend`",
    note = "implement `dlpack_traits::backend::Backend` for it, or name `Cpu`",
    note = "several backends are a tuple where a set is asked for"
)]
pub unsafe trait Backend: Sized + 'static {
    /// The kinds of memory that it serves: for one, `[kDLCUDA, kDLCUDAHost,
    /// kDLCUDAManaged]`.
    const DEVICE_TYPES: &'static [DLDeviceType];

    /// Its streams; [`NoStream`](super::NoStream) where work is done when the
    /// call returns.
    type Stream: Stream;

    /// The stream on which work for the device is launched now, by this thread.
    /// It names the same stream on every thread: of a per-thread default stream
    /// it is the real handle, or the call fails.
    ///
    /// # Errors
    ///
    /// [`Error::NoBackend`] for a device that does not exist, and those of the
    /// runtime.
    fn current_stream(device: Device) -> Result<WorkStream<Self>, Error>;

    /// The stream behind a handle that another library gave.
    ///
    /// # Errors
    ///
    /// Those of the runtime; for a stream of another device or context too.
    ///
    /// # Safety
    ///
    /// 1. `handle` names a stream of `device`, or a default stream of this
    ///    runtime, and is alive during the call; where
    ///    [`STREAMS_LAST`](Self::STREAMS_LAST) is false, for as long as the
    ///    result is used.
    unsafe fn borrow_stream(device: Device, handle: StreamHandle) -> Result<Self::Stream, Error>;

    /// What consumers mean by the numbers they send as `stream`.
    const RULES: StreamRules = StreamRules::HANDLES;

    /// Whether a borrowed stream outlives its handle; see 3. Where it does not, which is
    /// the default, memory is freed after the work of the whole device, and consumers are
    /// refused where [`SYNCHRONIZE_DEVICE`](Self::SYNCHRONIZE_DEVICE) is `None`, unless they
    /// promise that their stream lasts.
    const STREAMS_LAST: bool = false;

    /// Waits, on the host, for all work of all streams. Memory that a consumer
    /// may have used on a stream that nobody named is freed after that; without
    /// it such consumers (`stream=-1`) are refused.
    const SYNCHRONIZE_DEVICE: Option<fn(Device) -> Result<(), Error>> = None;

    /// `Some(AllocatorOf::THIS)` where the backend is an [`Allocator`](super::Allocator).
    const ALLOCATOR: Option<AllocatorOf<Self>> = None;

    /// Allocates a tensor, where that takes less than a buffer made by the allocator.
    #[doc(hidden)]
    const TENSOR: Option<AllocateTensor> = None;

    /// `Some(MemcpyOf::THIS)` where the backend is a [`Memcpy`](super::Memcpy).
    const MEMCPY: Option<MemcpyOf<Self>> = None;

    /// `Some(AttributesOf::THIS)` where the backend has [`PointerAttributes`](super::PointerAttributes).
    const ATTRIBUTES: Option<AttributesOf<Self>> = None;
}

/// A function that allocates what a prototype asks for.
#[doc(hidden)]
pub type AllocateTensor = fn(&Prototype<'_>) -> Result<ManagedTensor, Error>;
