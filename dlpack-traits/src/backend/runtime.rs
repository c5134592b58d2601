//! The runtime of a device, as a type: [`Backend`].

use super::memory::{AllocatorOf, AttributesOf, MemcpyOf};
use super::{Prototype, Stream, StreamHandle, StreamRules, WorkStream};
use crate::device::Device;
use crate::error::Error;
use crate::ffi::DLDeviceType;
use crate::managed::ManagedTensor;

/// The runtime of one family of devices, as a type without values.
///
/// A backend for a new device implements five functions: two of this trait, and three of
/// its [`Stream`]; and sets a constant, [`STREAMS_LAST`](Self::STREAMS_LAST), if its
/// streams are reference counted. Everything else has a default. A constant such as
/// `Some(AllocatorOf::THIS)` declares that the backend implements an optional trait.
///
/// | to | implement |
/// |---|---|
/// | export tensors | `Backend` and `Stream` |
/// | allocate, for consumers and [`DeviceBuffer`](super::DeviceBuffer) | [`Allocator`](super::Allocator) |
/// | copy tensors to the host | [`Memcpy`](super::Memcpy) |
/// | check foreign pointers | [`PointerAttributes`](super::PointerAttributes) |
///
/// Any thread may call any of the functions, concurrently. They report failures as an
/// [`Error`]; [`Error::Device`] carries error codes of the device's runtime. A machine
/// without the device, or without its library, is an ordinary error.
///
/// # Safety
///
/// 1. [`current_stream`](Self::current_stream) and [`borrow_stream`](Self::borrow_stream)
///    return streams of the device that they were called for.
/// 2. A number that [`RULES`](Self::RULES) turns into a stream is a handle that
///    `borrow_stream` takes, from any thread, for as long as the process lives.
/// 3. Where [`STREAMS_LAST`](Self::STREAMS_LAST) is true, a stream that `borrow_stream`
///    returned may be used for as long as it is kept, whatever happens to the handle: it
///    holds a reference of its own.
/// 4. When [`SYNCHRONIZE_DEVICE`](Self::SYNCHRONIZE_DEVICE) returns `Ok`, all work that had
///    been enqueued on any stream of the device is done.
/// 5. Where [`RULES`](Self::RULES) have no streams, the work of a call is done when the
///    call returns.
/// 6. Where the processor can follow the addresses of a device, such as those of unified
///    memory, the rules have [`StreamMeaning::Host`](super::StreamMeaning::Host) for a consumer that
///    names no stream, or [`StreamRules::may_be_read_at_once`] is true of the device: such
///    a consumer may be a library of the host, which reads at once.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the backend of a device",
    label = "not a `Backend`",
    note = "implement `dlpack_traits::backend::Backend` for it, or name `Cpu`",
    note = "several backends are a tuple where a set is asked for"
)]
pub unsafe trait Backend: Sized + 'static {
    /// The kinds of memory that it serves, for example
    /// `[kDLCUDA, kDLCUDAHost, kDLCUDAManaged]`.
    const DEVICE_TYPES: &'static [DLDeviceType];

    /// Its streams; [`NoStream`](super::NoStream) if the work of a call is done when the
    /// call returns.
    type Stream: Stream;

    /// The stream on which this thread currently launches work for the device. Its handle
    /// names the same stream on every thread: for a per-thread default stream, the function
    /// returns the real handle or fails.
    ///
    /// # Errors
    ///
    /// [`Error::NoBackend`] for a device that does not exist, and those of the
    /// runtime.
    fn current_stream(device: Device) -> Result<WorkStream<Self>, Error>;

    /// Borrows the stream behind a handle that another library passed.
    ///
    /// # Errors
    ///
    /// Those of the runtime, also for a stream of another device or context.
    ///
    /// # Safety
    ///
    /// 1. `handle` names a stream of `device`, or a default stream of this
    ///    runtime, and is alive during the call; where
    ///    [`STREAMS_LAST`](Self::STREAMS_LAST) is false, for as long as the
    ///    result is used.
    unsafe fn borrow_stream(device: Device, handle: StreamHandle) -> Result<Self::Stream, Error>;

    /// How to read the numbers that consumers pass as `stream`.
    const RULES: StreamRules = StreamRules::HANDLES;

    /// Whether a borrowed stream outlives its handle; see 3. If not, which is the default,
    /// memory is freed after the work of the whole device. Consumers are then rejected if
    /// [`SYNCHRONIZE_DEVICE`](Self::SYNCHRONIZE_DEVICE) is `None`, unless they promise that
    /// their stream lasts (`StreamArg::lasting`).
    const STREAMS_LAST: bool = false;

    /// Waits on the host for all work of all streams. Memory that a consumer may have used
    /// on an unnamed stream is freed after such a wait. If this is `None`, such consumers
    /// (`stream=-1`) are rejected.
    const SYNCHRONIZE_DEVICE: Option<fn(Device) -> Result<(), Error>> = None;

    /// `Some(AllocatorOf::THIS)` if the backend implements [`Allocator`](super::Allocator).
    const ALLOCATOR: Option<AllocatorOf<Self>> = None;

    /// A faster way to allocate a tensor than through a buffer of the allocator, if there
    /// is one.
    #[doc(hidden)]
    const TENSOR: Option<AllocateTensor> = None;

    /// `Some(MemcpyOf::THIS)` if the backend implements [`Memcpy`](super::Memcpy).
    const MEMCPY: Option<MemcpyOf<Self>> = None;

    /// `Some(AttributesOf::THIS)` if the backend implements
    /// [`PointerAttributes`](super::PointerAttributes).
    const ATTRIBUTES: Option<AttributesOf<Self>> = None;
}

/// A function that allocates a tensor for a prototype.
#[doc(hidden)]
pub type AllocateTensor = fn(&Prototype<'_>) -> Result<ManagedTensor, Error>;
