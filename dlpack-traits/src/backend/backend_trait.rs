//! The runtime of a device, as a type: [`Backend`], and what its items name in turn: a stream of
//! it ([`WorkStream`]), and the proofs that it implements the optional traits ([`AllocatorOf`],
//! [`MemcpyOf`], [`AttributesOf`]).
//!
//! The stream, its handle and its device are one value, so streams can be compared as
//! numbers, a vendor's stream needs no function that returns its handle, and an export to
//! the producer's own stream creates no object.

use core::ffi::c_void;
use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;

use super::memory::{Attributes, MemoryRef};
use super::prototype::Prototype;
use super::stream::{Stream, StreamHandle};
use super::stream_rules::StreamRules;
use crate::device::Device;
use crate::error::Error;
use crate::ffi::DLDeviceType;
use crate::managed::ManagedTensor;
use crate::stream::StreamArg;

/// The runtime of one family of devices, as a type without values.
///
/// A backend for a new device implements five functions, two of this trait and three of its
/// [`Stream`], and names its [`DEVICE_TYPES`](Self::DEVICE_TYPES), its stream type and its event
/// type. It sets the constant [`STREAMS_LAST`](Self::STREAMS_LAST) if its streams are reference
/// counted. Everything else has a default. A constant such as `Some(AllocatorOf::THIS)` declares
/// that the backend implements an optional trait.
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
/// 7. The handle of a stream that [`keep_stream`](Self::keep_stream) returned names the
///    stream, on every thread, for as long as it is kept.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the backend of a device",
    label = "not a `Backend`",
    note = "implement `dlpack_traits::backend::Backend` for it, or name `Cpu`",
    note = "to pass several backends, use a tuple: `(Cpu, Cuda)`"
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

    /// Makes a work stream of a handle that another library passed. By default the handle of
    /// the result is the same. Override this where [`STREAMS_LAST`](Self::STREAMS_LAST) is
    /// true and a handle may become invalid although the stream exists (7): it may be the
    /// address of an object that refers to the stream.
    ///
    /// # Errors
    ///
    /// Those of [`borrow_stream`](Self::borrow_stream).
    ///
    /// # Safety
    ///
    /// 1. `handle` names a stream of `device` on every thread, and is alive during the call;
    ///    where [`STREAMS_LAST`](Self::STREAMS_LAST) is false, for as long as the result, its
    ///    stream, or a clone of either lives.
    unsafe fn keep_stream(device: Device, handle: StreamHandle) -> Result<WorkStream<Self>, Error> {
        // SAFETY: 1. By our caller's 1, and 7 of `Backend` where streams last.
        unsafe { WorkStream::borrow(device, handle) }
    }

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

/// A stream of a backend on which work is launched: the stream, its handle, and
/// its device.
pub struct WorkStream<B: Backend> {
    device: Device,
    handle: StreamHandle,
    stream: B::Stream,
}

impl<B: Backend> WorkStream<B> {
    /// The stream on which this thread currently works.
    ///
    /// # Errors
    ///
    /// Those of [`Backend::current_stream`].
    pub fn current(device: Device) -> Result<Self, Error> {
        B::current_stream(device)
    }

    /// Combines a stream with its handle and device.
    ///
    /// # Safety
    ///
    /// 1. As long as this value, its stream, or a clone of either lives, the stream
    ///    may be used, and `handle` names it on every thread.
    /// 2. It is a stream of `device`.
    pub const unsafe fn new(device: Device, handle: StreamHandle, stream: B::Stream) -> Self {
        Self { device, handle, stream }
    }

    /// Borrows the stream behind a handle.
    ///
    /// # Errors
    ///
    /// Those of [`Backend::borrow_stream`].
    ///
    /// # Safety
    ///
    /// 1. `handle` names a stream of `device`, on every thread, for as long as
    ///    the result, its stream, or a clone of either lives. A buffer that is
    ///    handed off to it may keep such a clone.
    pub unsafe fn borrow(device: Device, handle: StreamHandle) -> Result<Self, Error> {
        // SAFETY: 1. By our caller's 1, `handle` names such a stream for as
        // long as the result is used.
        let stream = unsafe { B::borrow_stream(device, handle) }?;
        Ok(Self { device, handle, stream })
    }

    /// The device of the stream.
    pub fn device(&self) -> Device {
        self.device
    }

    /// The handle of the stream.
    pub fn handle(&self) -> StreamHandle {
        self.handle
    }

    /// The stream.
    pub fn stream(&self) -> &B::Stream {
        &self.stream
    }

    /// The `stream` argument that a consumer on this stream passes to a
    /// producer. An export of memory of another device rejects it.
    pub fn as_arg(&self) -> StreamArg<'_> {
        let Some(number) = B::RULES.number_of(self.handle) else {
            return StreamArg::unspecified();
        };
        // SAFETY: 1. By 1 of `new`, the handle names a stream of the device as long as
        // `self` lives; the rules may have replaced it by a number that names the same
        // stream. `of` names the device, so memory of another device is never exported for it.
        let named = unsafe { StreamArg::from_handle(number) };
        named.of(self.device).unwrap_or(StreamArg::unspecified())
    }

    /// Waits on the host for all enqueued work.
    ///
    /// # Errors
    ///
    /// Those of [`Stream::synchronize`].
    pub fn synchronize(&self) -> Result<(), Error> {
        self.stream.synchronize()
    }
}

impl<B: Backend> Clone for WorkStream<B> {
    fn clone(&self) -> Self {
        Self { device: self.device, handle: self.handle, stream: self.stream.clone() }
    }
}

impl<B: Backend> fmt::Debug for WorkStream<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {}", self.handle, self.device)
    }
}

/// The type of [`Allocator::deallocate`](super::Allocator::deallocate).
type Deallocate<B> = unsafe fn(&WorkStream<B>, NonNull<c_void>, usize) -> Result<(), Error>;

/// Defines a struct whose value proves that a backend implements an optional trait.
macro_rules! proof {
    ($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty),+ $(,)? }) => {
        $(#[$doc])*
        pub struct $name<B: Backend> {
            $(pub(super) $field: $type,)+
            pub(super) of: PhantomData<fn() -> B>,
        }

        impl<B: Backend> fmt::Debug for $name<B> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), "::THIS"))
            }
        }
    };
}

proof! {
    /// Proof that a backend implements [`Allocator`](super::Allocator): the value of [`Backend::ALLOCATOR`].
    AllocatorOf {
        allocate: fn(&WorkStream<B>, usize) -> Result<NonNull<c_void>, Error>,
        deallocate: Deallocate<B>,
        deallocate_after_all: Deallocate<B>,
    }
}

proof! {
    /// Proof that a backend implements [`Memcpy`](super::Memcpy): the value of [`Backend::MEMCPY`].
    MemcpyOf {
        copy: unsafe fn(&WorkStream<B>, MemoryRef, MemoryRef, usize) -> Result<(), Error>,
    }
}

proof! {
    /// Proof that a backend implements
    /// [`PointerAttributes`](super::PointerAttributes): the value of
    /// [`Backend::ATTRIBUTES`].
    AttributesOf {
        attributes: fn(*const c_void, Device) -> Result<Attributes, Error>,
    }
}
