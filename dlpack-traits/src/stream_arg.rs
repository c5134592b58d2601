//! The `stream` argument of a consumer: [`StreamArg`].
//!
//! This type is below `storage`, because a loan carries a synchronizer that receives it.
//! Its interpretation on a device belongs to `backend`.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::ffi::c_void;
use core::marker::PhantomData;

use crate::device::Device;
use crate::error::Error;
use crate::ffi::DLDeviceType;

/// The stream on which a consumer will use a tensor: the `stream` argument of `__dlpack__`
/// in the Python array API standard.
///
/// The numbers have different meanings on different devices, so they are stored unchanged;
/// the backend of the device interprets them.
///
/// ```
/// use dlpack_traits::StreamArg;
///
/// assert!(StreamArg::unspecified().host().is_ok());
/// assert!(StreamArg::no_sync().host().is_err());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct StreamArg<'a> {
    kind: PackedKind,
    alive: PhantomData<&'a c_void>,
}

/// [`StreamKind`], and whether a stream handle outlives the tensor, in two words.
#[derive(Clone, Copy, Debug)]
enum PackedKind {
    Unspecified,
    NoSync,
    WorkStream,
    OnHost,
    /// A stream, and its device; the device type 0 if it is not known.
    Handle {
        device_type: u16,
        device_id: i32,
        handle: usize,
    },
    /// As `Handle`, for a stream that outlives the tensor.
    Lasting {
        device_type: u16,
        device_id: i32,
        handle: usize,
    },
}

// An export passes the argument in registers.
const _: () = assert!(size_of::<StreamArg<'_>>() <= 16);

/// The kinds of `stream` arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamKind {
    /// No stream (`None`): the device's rule for its default stream applies.
    Unspecified,
    /// `-1`: the consumer requests no synchronization.
    NoSync,
    /// A sentinel or a stream handle, as the device defines it.
    Handle(usize),
    /// The stream that `current_work_stream` of the exchange table returns. The producer
    /// need not wait, but must order work on other streams before it.
    WorkStream,
    /// The consumer is the processor: it reads or writes the elements as soon as the call
    /// returns. So all pending work must have finished by then.
    OnHost,
}

/// Where a consumer uses device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConsumerPlace {
    /// The consumer names no stream. The producer orders its work before the default stream
    /// and frees the memory after it, or waits for its own work, by the rules of the device.
    DefaultStream,
    /// The processor. The producer waits for its own work, and records no later use.
    Host,
    /// A stream, or no synchronization. The producer records no use of the default stream.
    Stream,
}

impl StreamArg<'_> {
    const fn new(kind: PackedKind) -> Self {
        Self { kind, alive: PhantomData }
    }

    /// The consumer named no stream (`stream=None`).
    pub const fn unspecified() -> Self {
        Self::new(PackedKind::Unspecified)
    }

    /// The consumer requests no synchronization (`stream=-1`).
    pub const fn no_sync() -> Self {
        Self::new(PackedKind::NoSync)
    }

    /// The consumer is the processor. No value of `stream` has this meaning; a copy to the
    /// host uses it.
    pub const fn on_host() -> Self {
        Self::new(PackedKind::OnHost)
    }

    /// The consumer uses the tensor on the stream that `current_work_stream` of the
    /// exchange table returns.
    pub const fn work_stream() -> Self {
        Self::new(PackedKind::WorkStream)
    }

    /// A sentinel (0, 1, 2 on some devices) or a stream handle.
    ///
    /// # Safety
    ///
    /// 1. `handle` is a sentinel of the tensor's device, or a stream of that
    ///    device that lives for `'a`. A sentinel for the default stream of a thread (2 on
    ///    CUDA) is passed on by that thread only.
    pub const unsafe fn from_handle(handle: usize) -> Self {
        Self::new(PackedKind::Handle { device_type: 0, device_id: 0, handle })
    }

    /// Names the device of the stream: an export of memory of another device rejects it.
    /// `None` if the device type is not one that the standard could define.
    pub(crate) fn of(self, device: Device) -> Option<Self> {
        let device_type = u16::try_from(device.device_type().0).ok().filter(|&it| it != 0)?;
        let device_id = device.device_id();
        Some(match self.kind {
            PackedKind::Handle { handle, .. } => {
                Self::new(PackedKind::Handle { device_type, device_id, handle })
            }
            PackedKind::Lasting { handle, .. } => {
                Self::new(PackedKind::Lasting { device_type, device_id, handle })
            }
            _ => self,
        })
    }

    /// The device of the stream. It is known only for an argument made by `WorkStream::as_arg`.
    ///
    /// This crate does not pass an argument to the [`Synchronize`] of a loan if its device is
    /// known and cannot work on the memory. Any device of the vendor can work on pinned and managed
    /// memory. An implementation for a field with the role `sync` that uses the
    /// handle checks it itself.
    pub fn device(self) -> Option<Device> {
        match self.kind {
            PackedKind::Handle { device_type, device_id, .. }
            | PackedKind::Lasting { device_type, device_id, .. }
                if device_type != 0 =>
            {
                Some(Device::new(DLDeviceType(device_type.into()), device_id))
            }
            _ => None,
        }
    }

    /// Checks that the argument names no stream of another device than that of the memory.
    ///
    /// # Errors
    ///
    /// [`Error::DeviceMismatch`].
    #[inline]
    pub(crate) fn check_device(self, memory: Device) -> Result<(), Error> {
        match self.device() {
            Some(device) if !device.shares_streams_with(memory) => {
                Err(Error::DeviceMismatch { device, storage: memory })
            }
            _ => Ok(()),
        }
    }

    /// States that the stream outlives the tensor: memory can then be freed in stream
    /// order; otherwise it is freed after all work of the device, for which the host may have to wait.
    ///
    /// # Safety
    ///
    /// 1. The handle names the stream until the deleter of every tensor that was
    ///    exported for it has been called.
    #[must_use]
    pub const unsafe fn lasting(self) -> Self {
        match self.kind {
            PackedKind::Handle { device_type, device_id, handle } => {
                Self::new(PackedKind::Lasting { device_type, device_id, handle })
            }
            _ => self,
        }
    }

    /// Whether the stream outlives the tensor.
    pub(crate) const fn lasts(self) -> bool {
        matches!(self.kind, PackedKind::Lasting { .. })
    }

    /// Where the consumer uses the memory, without the stream handle.
    #[inline]
    pub(crate) const fn place(self) -> ConsumerPlace {
        match self.kind {
            PackedKind::Unspecified => ConsumerPlace::DefaultStream,
            PackedKind::OnHost => ConsumerPlace::Host,
            PackedKind::NoSync
            | PackedKind::WorkStream
            | PackedKind::Handle { .. }
            | PackedKind::Lasting { .. } => ConsumerPlace::Stream,
        }
    }

    /// The kind of the argument.
    #[inline]
    pub const fn kind(self) -> StreamKind {
        match self.kind {
            PackedKind::Unspecified => StreamKind::Unspecified,
            PackedKind::NoSync => StreamKind::NoSync,
            PackedKind::WorkStream => StreamKind::WorkStream,
            PackedKind::OnHost => StreamKind::OnHost,
            PackedKind::Handle { handle, .. } | PackedKind::Lasting { handle, .. } => {
                StreamKind::Handle(handle)
            }
        }
    }

    /// Checks the argument for host memory, on which no stream works: a consumer must not
    /// name one.
    ///
    /// # Errors
    ///
    /// [`Error::StreamOnHost`] if it names one, or requests no synchronization.
    #[inline]
    pub const fn host(self) -> Result<(), Error> {
        match self.kind {
            PackedKind::Unspecified | PackedKind::WorkStream | PackedKind::OnHost => Ok(()),
            PackedKind::NoSync | PackedKind::Handle { .. } | PackedKind::Lasting { .. } => {
                Err(Error::StreamOnHost)
            }
        }
    }

    /// As [`host`](Self::host), for memory without a [`Synchronize`], which must be host
    /// memory: for other memory nothing orders the work.
    #[inline]
    pub(crate) const fn host_on(self, device: Device) -> Result<(), Error> {
        if device.is_host() { self.host() } else { Err(NOT_SYNCHRONIZED) }
    }
}

const NOT_SYNCHRONIZED: Error = Error::Custom(
    "the tensor is in memory of a device, and nothing synchronizes it with the consumer; \
     lend it from a `DeviceBuffer`, or add `DataRef::synchronized_by`",
);

/// Pending work that a consumer must be synchronized with: an event, a stream, a job.
///
/// It has two uses. A field with the role `sync` synchronizes work that fills the memory
/// and that the storage does not track; an error in it causes at worst a stale value.
/// [`DataRef::synchronized_by`](crate::DataRef::synchronized_by) makes it a part of a loan
/// of device memory, where it also decides when the memory may be freed; that function is
/// `unsafe`.
///
/// ```
/// use std::sync::mpsc::Receiver;
/// use std::sync::Mutex;
/// use dlpack_traits::{Error, StreamArg, Synchronize};
///
/// /// A thread that sends a message when it has filled the buffer.
/// struct Filled(Mutex<Receiver<()>>);
///
/// impl Synchronize for Filled {
///     fn sync_for(&self, consumer: StreamArg<'_>) -> Result<(), Error> {
///         let done = self.0.lock().map_err(|_| Error::Custom("the filling thread panicked"))?;
///         // Disconnected: an earlier call has already received the message.
///         let _ = done.recv();
///         consumer.host()
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be synchronized with a consumer",
    label = "not a `Synchronize`",
    note = "implement `dlpack_traits::Synchronize` for the event or stream that fills the data"
)]
pub trait Synchronize {
    /// Orders this work before the work of the consumer on its stream.
    ///
    /// # Errors
    ///
    /// Those of the device.
    fn sync_for(&self, consumer: StreamArg<'_>) -> Result<(), Error>;
}

/// `None` states that no work is pending.
impl<P: Synchronize> Synchronize for Option<P> {
    #[inline]
    fn sync_for(&self, consumer: StreamArg<'_>) -> Result<(), Error> {
        self.as_ref().map_or(Ok(()), |pending| pending.sync_for(consumer))
    }
}

/// A pointer to pending work is pending work.
macro_rules! through_pointers {
    ($($pointer:ty),+) => {$(
        impl<P: Synchronize + ?Sized> Synchronize for $pointer {
            #[inline]
            fn sync_for(&self, consumer: StreamArg<'_>) -> Result<(), Error> {
                (**self).sync_for(consumer)
            }
        }
    )+};
}

through_pointers!(&P, Box<P>, Arc<P>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_of_another_device_is_rejected() {
        // SAFETY: 1. It is a sentinel.
        let handle = unsafe { StreamArg::from_handle(1) };
        // SAFETY: 1. Nothing is exported for it.
        let lasting = unsafe { handle.lasting() };
        for stream in [handle, lasting] {
            let first = stream.of(Device::cuda(0)).unwrap();
            assert!(first.check_device(Device::cuda(0)).is_ok());
            assert!(first.check_device(Device::CUDA_HOST).is_ok());
            let error = first.check_device(Device::cuda(1)).unwrap_err();
            assert!(matches!(error, Error::DeviceMismatch { .. }), "{error:?}");
            // Its device is not known.
            assert!(stream.check_device(Device::cuda(1)).is_ok());
        }
        assert_eq!(lasting.of(Device::cuda(1)).unwrap().device(), Some(Device::cuda(1)));
    }
}
