//! The runtime of a device, as a type ([`Backend`]), and a stream of it ([`WorkStream`]).
//!
//! The stream, its handle and its device are one value, so streams can be compared as
//! numbers, a vendor's stream needs no function that returns its handle, and an export to
//! the producer's own stream creates no object.

use core::ffi::c_void;
use core::fmt;

use super::frees::run_blocking;
use super::memory::{Attributes, MemoryRange, MemoryRef, MemoryType, Prototype};
use super::stream::{ArrayStream, Stream, StreamHandle};
use super::stream_rules::StreamRules;
use crate::device::Device;
use crate::error::Error;
use crate::managed::ManagedTensor;
use crate::stream_arg::StreamArg;

/// The runtime of one family of devices, as a type without values.
///
/// A backend for a new device implements five functions, two of this trait and three of its
/// [`Stream`], and names its [`MEMORY_TYPES`](Self::MEMORY_TYPES), its stream type with two facts of
/// it, and its event type. It sets the constant [`STREAMS_LAST`](Self::STREAMS_LAST) if its streams are reference
/// counted. Everything else has a default: a function that the backend does not implement returns
/// [`Error::Unsupported`], which names what is missing.
///
/// | to | implement |
/// |---|---|
/// | export tensors | the five functions |
/// | allocate, for consumers and [`DeviceBuffer`](super::DeviceBuffer) | [`allocate`](Self::allocate) and [`deallocate`](Self::deallocate) |
/// | copy to, from and on the device | [`copy`](Self::copy) |
/// | check foreign pointers | [`attributes`](Self::attributes) |
///
/// Any thread may call any of the functions, concurrently. They report failures as an
/// [`Error`]; [`device_error`](super::device_error) makes one of an error code of the device's
/// runtime, with its text. A machine without the device, or without its library, is an ordinary error.
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
///    been enqueued on any stream of the device is done, also on streams that were closed since.
/// 5. Where [`RULES`](Self::RULES) have no streams, the work of a call is done when the
///    call returns.
/// 6. Where the processor can follow the addresses of a device, such as those of unified
///    memory, the rules have [`StreamMeaning::Host`](super::StreamMeaning::Host) for a consumer that
///    names no stream, or the memory is [read by the host](MemoryType::read_by_host): such
///    a consumer may be a library of the host, which reads at once.
/// 7. The handle of a stream that [`keep_stream`](Self::keep_stream) returned names the
///    stream, on every thread, for as long as it is kept.
/// 8. An implementation of [`allocate`](Self::allocate), [`allocate_uninit`](Self::allocate_uninit),
///    [`deallocate`](Self::deallocate), [`deallocate_after_all`](Self::deallocate_after_all),
///    [`abandon`](Self::abandon), [`copy`](Self::copy) or [`attributes`](Self::attributes) does what the section "Promises" of
///    its documentation says. Their defaults do.
/// 9. What [`MEMORY_TYPES`](Self::MEMORY_TYPES) states is true of the memory.
/// 10. A capsule of the name in [`ARRAY_STREAM`](Self::ARRAY_STREAM) keeps a stream alive whose handle
///     [`keep_stream`](Self::keep_stream) takes, and only the vendor's library makes such capsules.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the backend of a device",
    label = "not a `Backend`",
    note = "implement `dlpack_traits::backend::Backend` for it, or name `Cpu`",
    note = "a `DeviceBuffer` has one backend; a tuple of several, such as `(Cpu, Cuda)`, is for a class, a copy or an exchange table"
)]
pub unsafe trait Backend: Sized + 'static {
    /// The kinds of memory that it serves, with what is true of each. The first one is the memory
    /// that an error names.
    const MEMORY_TYPES: &'static [MemoryType];

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

    /// The method, without arguments, by which an object of Python that is a stream returns its handle:
    /// an integer, or a tuple of a version and the handle. A consumer may then pass the object as
    /// `stream`: `addressof_ref` of a queue of SYCL, `__cuda_stream__` of CUDA's libraries, or one of
    /// the vendor's own.
    const STREAM_METHOD: Option<&'static str> = None;

    /// How an array of Python names the stream on which it is ready, such as the `sycl_queue` of SYCL's
    /// arrays. The producer is then not asked to order its work before another stream.
    const ARRAY_STREAM: Option<ArrayStream> = None;

    /// Whether a borrowed stream outlives its handle; see 3. If not, which is the default,
    /// memory is freed after the work of the whole device. Consumers are then rejected if
    /// [`SYNCHRONIZE_DEVICE`](Self::SYNCHRONIZE_DEVICE) is `None`, unless they promise that
    /// their stream lasts (`StreamArg::lasting`).
    const STREAMS_LAST: bool = false;

    /// Waits on the host for all work of all streams. Memory that a consumer may have used
    /// on an unnamed stream is freed after such a wait. If this is `None`, such consumers
    /// (`stream=-1`) are rejected.
    const SYNCHRONIZE_DEVICE: Option<fn(Device) -> Result<(), Error>> = None;

    /// Allocates zeroed memory, for work on the stream. `byte_len` is at least 1.
    ///
    /// By default a backend does not allocate. Exporting needs no allocator.
    ///
    /// # Promises
    ///
    /// 1. The result has `byte_len` bytes of the stream's device or more, aligned to 64 bytes or
    ///    better: at an address, or at an offset in the object behind a handle. No one else uses
    ///    them until [`deallocate`](Self::deallocate). They may be a part of an allocation.
    /// 2. Work that is enqueued on the stream later finds zeros in them, and so does work that
    ///    is ordered after such work.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`], and those of the runtime; [`Error::Unsupported`] by default.
    fn allocate(stream: &WorkStream<Self>, byte_len: usize) -> Result<MemoryRange, Error> {
        let _ = byte_len;
        Err(Error::Unsupported { device: stream.device(), what: "allocator" })
    }

    /// Allocates memory as [`allocate`](Self::allocate) does, with any contents: all of it is written
    /// before it is read. By default it is zeroed.
    ///
    /// # Promises
    ///
    /// 1. As of `allocate`.
    ///
    /// # Errors
    ///
    /// Those of `allocate`.
    fn allocate_uninit(stream: &WorkStream<Self>, byte_len: usize) -> Result<MemoryRange, Error> {
        Self::allocate(stream, byte_len)
    }

    /// Frees memory after the work on the stream. It does not wait on the host if the
    /// runtime can free in the order of the stream.
    ///
    /// # Promises
    ///
    /// 1. The memory stays until all work is done that was enqueued on the stream before.
    /// 2. If the processor can follow its address, the call has waited for that work by
    ///    the time the processor may be given the memory again: an allocator of the host takes
    ///    no part in the order of streams.
    /// 3. Any thread may call it.
    ///
    /// # Errors
    ///
    /// Those of the runtime; [`Error::Unsupported`] by default. The memory is then leaked.
    ///
    /// # Safety
    ///
    /// 1. An allocation for the same device returned `memory`, which was not freed.
    /// 2. All work on it is done, or ordered before what is now enqueued on the
    ///    stream.
    unsafe fn deallocate(stream: &WorkStream<Self>, memory: MemoryRange) -> Result<(), Error> {
        let _ = memory;
        Err(Error::Unsupported { device: stream.device(), what: "allocator" })
    }

    /// Frees memory that a consumer may use on any stream, after the work on all of them.
    /// By default the host waits for the device, and then calls `deallocate`.
    ///
    /// # Promises
    ///
    /// Those of [`deallocate`](Self::deallocate), for all work of the device.
    ///
    /// # Errors
    ///
    /// Those of the runtime. The memory is then leaked.
    ///
    /// # Safety
    ///
    /// 1. An allocation for the same device returned `memory`, which was not freed.
    /// 2. All work on it is done, or enqueued on some stream of the device.
    unsafe fn deallocate_after_all(
        stream: &WorkStream<Self>,
        memory: MemoryRange,
    ) -> Result<(), Error> {
        synchronize_device::<Self>(stream.device())?;
        // SAFETY: 1. By our caller's 1. 2. By our caller's 2, and 4 of `Backend`, all work
        // on it is done.
        unsafe { Self::deallocate(stream, memory) }
    }

    /// Gives up memory that is never freed, because no order of a free is known, such as after the
    /// device failed: what the host has recorded of the allocation may go. By default nothing
    /// happens.
    ///
    /// # Promises
    ///
    /// 1. The bytes are neither freed nor allocated again: work may still use them.
    ///
    /// # Safety
    ///
    /// 1. An allocation for the same device returned `memory`, which was not freed, and is not used
    ///    by the caller any more. [`deallocate`](Self::deallocate) may have failed for it.
    unsafe fn abandon(stream: &WorkStream<Self>, memory: MemoryRange) {
        let _ = (stream, memory);
    }

    /// Enqueues a copy of `byte_len` bytes, at least 1, on the stream. One of the places
    /// may be on [`Device::CPU`], or on another device of the backend.
    ///
    /// By default a backend does not copy. Exporting needs no copies.
    ///
    /// # Promises
    ///
    /// 1. It reads and writes no more than those bytes, in the order of the stream.
    /// 2. If it returns [`Error::Unsupported`] or [`Error::SizeOverflow`], nothing was
    ///    enqueued. After another error the copy may still be pending, and the caller keeps the
    ///    memory of the host alive.
    ///
    /// # Errors
    ///
    /// Those of the runtime; [`Error::Unsupported`] for two places between which it cannot
    /// copy, and by default.
    ///
    /// # Safety
    ///
    /// 1. Until the work is done, `from` may be read and `to` written, for
    ///    `byte_len` bytes; they do not overlap.
    unsafe fn copy(
        stream: &WorkStream<Self>,
        from: MemoryRef,
        to: MemoryRef,
        byte_len: usize,
    ) -> Result<(), Error> {
        let _ = (from, byte_len);
        let what = if to.device == Device::CPU { "copy to the host" } else { "copy" };
        Err(Error::Unsupported { device: stream.device(), what })
    }

    /// The attributes of an address or handle: a foreign struct names a device too, but may
    /// be wrong. The pointer is not dereferenced.
    ///
    /// # Promises
    ///
    /// 1. The result is right, for memory that is alive.
    ///
    /// # Errors
    ///
    /// [`Error::NoBackend`] with `hint` for memory that does not belong to the runtime, and
    /// those of the runtime; [`Error::Unsupported`] by default.
    fn attributes(data: *const c_void, hint: Device) -> Result<Attributes, Error> {
        let _ = data;
        Err(Error::Unsupported { device: hint, what: "pointer attributes" })
    }

    /// Allocates a tensor without a buffer, as 1 of [`Backends`](super::Backends) promises; `None`
    /// to allocate it in a [`DeviceBuffer`](super::DeviceBuffer). For the host, whose memory has
    /// one owner and no streams.
    #[doc(hidden)]
    fn allocate_tensor(prototype: &Prototype<'_>) -> Result<Option<ManagedTensor>, Error> {
        let _ = prototype;
        Ok(None)
    }
}

/// What the backend states of the memory of a device; `None` if it does not serve the device.
pub(crate) fn memory_type<B: Backend>(device: Device) -> Option<MemoryType> {
    let mut served = B::MEMORY_TYPES.iter().copied();
    served.find(|served| served.device_type() == device.device_type())
}

/// Whether the backend serves the device, with memory whose `data` is an address.
pub(crate) fn has_addresses<B: Backend>(device: Device) -> bool {
    memory_type::<B>(device).is_some_and(MemoryType::has_addresses)
}

/// Whether the backend serves the device, with memory that the processor reads.
pub(crate) fn is_read_by_host<B: Backend>(device: Device) -> bool {
    memory_type::<B>(device).is_some_and(MemoryType::is_read_by_host)
}

/// Checks that a stream of one device can work on memory of the other.
///
/// # Errors
///
/// [`Error::DeviceMismatch`].
pub(super) fn check_stream<B: Backend>(stream: Device, memory: Device) -> Result<(), Error> {
    let served = [stream, memory].iter().all(|&device| memory_type::<B>(device).is_some());
    if served && (stream.device_id() == memory.device_id() || is_read_by_host::<B>(memory)) {
        return Ok(());
    }
    Err(Error::DeviceMismatch { device: stream, storage: memory })
}

/// Waits on the host for all work of the device.
pub(super) fn synchronize_device<B: Backend>(device: Device) -> Result<(), Error> {
    match B::SYNCHRONIZE_DEVICE {
        Some(synchronize) => run_blocking(|| synchronize(device)),
        None => Err(Error::StreamUntracked { device }),
    }
}

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

    /// The same stream for another kind of memory of the backend with the number of its device, such as
    /// an allocation of pinned memory.
    ///
    /// # Errors
    ///
    /// [`Error::DeviceMismatch`] for memory of another device.
    pub fn on_memory(self, memory: Device) -> Result<Self, Error> {
        let number = memory.device_id() == self.device.device_id();
        if !number || memory_type::<B>(memory).is_none() {
            return Err(Error::DeviceMismatch { device: self.device, storage: memory });
        }
        // The invariant of `new`: by 9 of `Backend`, all kinds of memory share its streams.
        Ok(Self { device: memory, ..self })
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
