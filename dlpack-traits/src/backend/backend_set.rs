//! Several backends as one type: [`Backends`].

use core::ffi::c_void;
use core::fmt;

use super::backend_trait::memory_type;
use super::device_tensor::without_stream;
use super::memory::{Attributes, MemoryRef};
use super::staged::to_host;
use super::{Backend, DeviceBuffer, Prototype, StreamRules, WorkStream, frees};
use crate::device::Device;
use crate::dtype::DataType;
use crate::error::Error;
use crate::export::compact_managed;
use crate::managed::ManagedTensor;
use crate::storage::SharedOwner;
use crate::stream_arg::{ConsumerPlace, StreamArg};

/// The devices that a class serves, as a type: a [`Backend`], or a tuple of sets. The first
/// set that serves a device is used for it.
///
/// ```
/// use dlpack_traits::backend::{Backends, Cpu};
/// use dlpack_traits::Device;
///
/// assert!(<(Cpu,)>::serves(Device::CPU));
/// assert!(!<(Cpu,)>::serves(Device::cuda(0)));
/// ```
///
/// # Safety
///
/// Backends and tuples implement this. An implementation by hand, for devices that are only known
/// at run time, promises that
///
/// 1. [`allocate`](Self::allocate) returns memory of the prototype's device that may be
///    written, and to which no one else has access: consumers write to it;
/// 2. [`copy_to_device`](Self::copy_to_device) returns such memory too, of the device `to`, aligned to 64 bytes or better, and synchronized with the consumer's stream:
///    it is exported with IS_COPIED;
/// 3. [`current_work_stream`](Self::current_work_stream) returns NULL, or a stream of that
///    device which is alive: consumers work on it;
/// 4. the result of [`pointer_attributes`](Self::pointer_attributes) is right, for memory that is alive.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a set of backends",
    label = "neither a backend nor a tuple of them",
    note = "name `dlpack_traits::backend::Cpu`, a type that implements `Backend`, or a tuple of up to 8"
)]
pub unsafe trait Backends: 'static {
    /// Whether any of the devices has streams, so that the host may have to wait for one.
    const HAS_STREAMS: bool = true;

    /// Whether the set serves devices of this kind. The device need not exist.
    fn serves(device: Device) -> bool {
        !matches!(Self::current_work_stream(device), Err(Error::NoBackend { .. }))
    }

    /// Allocates a zeroed tensor, aligned to 64 bytes or better, for work on the
    /// current stream of the device.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`], [`Error::NoBackend`] for a device that none of
    /// them serves, [`Error::Unsupported`], and those of the device.
    fn allocate(prototype: &Prototype<'_>) -> Result<ManagedTensor, Error>;

    /// The stream on which work for the device is currently launched; NULL on the host.
    ///
    /// # Errors
    ///
    /// [`Error::NoBackend`], and those of the device.
    fn current_work_stream(device: Device) -> Result<*mut c_void, Error>;

    /// The method by which an object of Python states the handle of its stream
    /// ([`Backend::STREAM_METHOD`]), with the rules of the device that has the stream.
    fn stream_method(device: Device) -> Option<(&'static str, StreamRules)> {
        let _ = device;
        None
    }

    /// Copies bytes of a device to the host, after the work that fills them. When this
    /// returns, also with an error, no work of the device accesses `to` any more.
    ///
    /// # Errors
    ///
    /// [`Error::NoBackend`], [`Error::Unsupported`], those of [`CopySource::order_before_work_stream`],
    /// and those of the device; an [`Error::Custom`] if `to` does not have
    /// [`CopySource::byte_len`] bytes.
    fn copy_to_host(from: CopySource<'_>, to: &mut [u8]) -> Result<(), Error> {
        let _ = to;
        Err(Error::NoBackend { device: from.device() })
    }

    /// Copies bytes of a device to new memory on it or on another device of its backend, after the
    /// work that fills them, as [`copy_to_host`](Self::copy_to_host) does. The copy is complete when
    /// this returns, and is synchronized with the consumer's stream, which is recorded for the free.
    ///
    /// # Errors
    ///
    /// Those of [`copy_to_host`](Self::copy_to_host), and of a hand-off.
    fn copy_to_device(
        from: CopySource<'_>,
        to: Device,
        consumer: StreamArg<'_>,
    ) -> Result<SharedOwner, Error> {
        let _ = (to, consumer);
        Err(Error::NoBackend { device: from.device() })
    }

    /// The attributes of an address or handle, from the runtime that serves `hint`.
    ///
    /// # Errors
    ///
    /// [`Error::NoBackend`], [`Error::Unsupported`], and those of the device.
    fn pointer_attributes(data: *const c_void, hint: Device) -> Result<Attributes, Error> {
        let _ = data;
        Err(Error::NoBackend { device: hint })
    }
}

/// Orders the work that fills a tensor before a consumer:
/// [`sync_for`](crate::DLPackExport::sync_for) of that tensor and of its memory.
pub type SyncFn<'a> = &'a dyn Fn(StreamArg<'_>) -> Result<(), Error>;

/// Memory of a device to copy from, and the order of the work that fills it.
pub struct CopySource<'a> {
    order: SyncFn<'a>,
    place: MemoryRef,
    byte_len: usize,
    dtype: DataType,
}

impl<'a> CopySource<'a> {
    /// Memory at `place`. `order` orders the work that fills it before a stream.
    ///
    /// # Safety
    ///
    /// 1. After that work, `place` has `byte_len` bytes, of elements of type `dtype`, for
    ///    as long as this value exists; and where a copy fails, until the work is done that
    ///    was enqueued on the stream with which `order` was called, as for any consumer.
    pub const unsafe fn new(
        order: SyncFn<'a>,
        place: MemoryRef,
        byte_len: usize,
        dtype: DataType,
    ) -> Self {
        Self { order, place, byte_len, dtype }
    }

    /// The device of the memory.
    pub const fn device(&self) -> Device {
        self.place.device
    }

    /// The location of the memory.
    pub const fn place(&self) -> MemoryRef {
        self.place
    }

    /// Number of bytes.
    pub const fn byte_len(&self) -> usize {
        self.byte_len
    }

    /// Type of the elements.
    pub const fn dtype(&self) -> DataType {
        self.dtype
    }

    /// Orders the work that fills the memory before the current stream of the device
    /// ([`StreamArg::work_stream`]).
    ///
    /// # Errors
    ///
    /// Those of the tensor and of its memory.
    pub fn order_before_work_stream(&self) -> Result<(), Error> {
        (self.order)(StreamArg::work_stream())
    }
}

impl fmt::Debug for CopySource<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CopySource")
            .field("place", &self.place)
            .field("byte_len", &self.byte_len)
            .field("dtype", &self.dtype)
            .finish_non_exhaustive()
    }
}

/// A backend is a set of one.
// SAFETY: 1. and 2. It is new memory of the backend's allocator, by 1 of `Backend::allocate`, and
// `DeviceBuffer` does the hand-off; or a tensor of `Backend::allocate_tensor`, which promises 1. 3. By 1 of `WorkStream::new`. 4. By 1 of
// `Backend::attributes`.
#[diagnostic::do_not_recommend]
unsafe impl<B: Backend> Backends for B {
    const HAS_STREAMS: bool = B::RULES.has_streams();

    fn serves(device: Device) -> bool {
        memory_type::<B>(device).is_some()
    }

    fn allocate(prototype: &Prototype<'_>) -> Result<ManagedTensor, Error> {
        let device = served::<B>(prototype.device())?;
        if let Some(tensor) = B::allocate_tensor(prototype)? {
            return Ok(tensor);
        }
        let (dtype, byte_len) = (prototype.dtype(), prototype.byte_len());
        let buffer =
            DeviceBuffer::<B>::allocated(B::current_stream(device)?, dtype, byte_len, B::allocate)?;
        let owner = SharedOwner::new(buffer).ok_or(Error::OutOfMemory { bytes: byte_len })?;
        compact_managed(owner, prototype.shape(), ConsumerPlace::Stream)
    }

    fn current_work_stream(device: Device) -> Result<*mut c_void, Error> {
        Ok(B::current_stream(served::<B>(device)?)?.handle().as_ptr())
    }

    fn stream_method(device: Device) -> Option<(&'static str, StreamRules)> {
        let method = B::STREAM_METHOD?;
        B::serves(device).then_some((method, B::RULES))
    }

    fn copy_to_host(from: CopySource<'_>, to: &mut [u8]) -> Result<(), Error> {
        let device = served::<B>(from.device())?;
        if to.len() != from.byte_len() {
            return Err(Error::Custom("a copy to the host needs as many bytes there"));
        }
        let stream = ordered_stream::<B>(device, &from)?;
        // SAFETY: 1. By 1 of `CopySource::new`, `from` has the bytes when the stream
        // reaches the copy.
        unsafe { to_host(&stream, from.place(), to) }
    }

    fn copy_to_device(
        from: CopySource<'_>,
        to: Device,
        consumer: StreamArg<'_>,
    ) -> Result<SharedOwner, Error> {
        let device = served::<B>(from.device())?;
        let stream = ordered_stream::<B>(device, &from)?;
        let theirs =
            if to == device { stream.clone() } else { B::current_stream(served::<B>(to)?)? };
        let (byte_len, dtype) = (from.byte_len(), from.dtype());
        let buffer = DeviceBuffer::allocated(theirs, dtype, byte_len, B::allocate_uninit)?;
        if byte_len != 0 {
            if to != device {
                // The copy is work of the source's device, whose streams may have no order with ours.
                buffer.stream().synchronize()?;
            }
            // SAFETY: 1. By 1 of `CopySource::new`, `from` has the bytes when the stream
            // reaches the copy, and until the copy is done; the buffer has as many, is new,
            // and is freed after the work of its stream, or never.
            let copied = unsafe { B::copy(&stream, from.place(), buffer.place(), byte_len) };
            if let Err(error) = copied.and_then(|()| stream.synchronize()) {
                // 2 of `Backend::copy`: otherwise the copy may be pending on a stream that the free
                // does not wait for.
                if to != device && !matches!(error, Error::Unsupported { .. }) {
                    frees::keep(buffer);
                }
                return Err(error);
            }
        }
        buffer.sync_for(consumer)?;
        SharedOwner::new(buffer).ok_or(Error::OutOfMemory { bytes: byte_len })
    }

    fn pointer_attributes(data: *const c_void, hint: Device) -> Result<Attributes, Error> {
        B::attributes(data, served::<B>(hint)?)
    }
}

/// The stream for a copy, which waits for it: the current one, or for an import without a backend one
/// on which a consumer without a stream works.
fn ordered_stream<B: Backend>(
    device: Device,
    from: &CopySource<'_>,
) -> Result<WorkStream<B>, Error> {
    let stream = WorkStream::current(device)?;
    match from.order_before_work_stream() {
        Ok(()) => Ok(stream),
        Err(Error::NotOrdered { .. }) => {
            (from.order)(StreamArg::unspecified())?;
            without_stream(device)
        }
        Err(error) => Err(error),
    }
}

/// Returns the device, if it is of a kind that the backend serves.
fn served<B: Backend>(device: Device) -> Result<Device, Error> {
    if B::serves(device) { Ok(device) } else { Err(Error::NoBackend { device }) }
}

/// Implements `Backends` for tuples: each call goes to the first set that serves the
/// device.
macro_rules! tuples {
    ($($set:ident)+) => {
        // SAFETY: 1. to 4. Each result is that of one of the sets.
        unsafe impl<$($set: Backends),+> Backends for ($($set,)+) {
            const HAS_STREAMS: bool = $($set::HAS_STREAMS)||+;

            fn serves(device: Device) -> bool {
                $($set::serves(device))||+
            }

            fn allocate(prototype: &Prototype<'_>) -> Result<ManagedTensor, Error> {
                let device = prototype.device();
                $(if $set::serves(device) {
                    return $set::allocate(prototype);
                })+
                Err(Error::NoBackend { device })
            }

            fn current_work_stream(device: Device) -> Result<*mut c_void, Error> {
                $(if $set::serves(device) {
                    return $set::current_work_stream(device);
                })+
                Err(Error::NoBackend { device })
            }

            fn stream_method(device: Device) -> Option<(&'static str, StreamRules)> {
                None$(.or_else(|| $set::stream_method(device)))+
            }

            fn copy_to_host(from: CopySource<'_>, to: &mut [u8]) -> Result<(), Error> {
                $(if $set::serves(from.device()) {
                    return $set::copy_to_host(from, to);
                })+
                Err(Error::NoBackend { device: from.device() })
            }

            fn copy_to_device(
                from: CopySource<'_>,
                to: Device,
                consumer: StreamArg<'_>,
            ) -> Result<SharedOwner, Error> {
                $(if $set::serves(from.device()) {
                    return $set::copy_to_device(from, to, consumer);
                })+
                Err(Error::NoBackend { device: from.device() })
            }

            fn pointer_attributes(data: *const c_void, hint: Device) -> Result<Attributes, Error> {
                $(if $set::serves(hint) {
                    return $set::pointer_attributes(data, hint);
                })+
                Err(Error::NoBackend { device: hint })
            }
        }
    };
}

tuples!(A);
tuples!(A B);
tuples!(A B C);
tuples!(A B C D);
tuples!(A B C D E);
tuples!(A B C D E F);
tuples!(A B C D E F G);
tuples!(A B C D E F G H);
