//! What a consumer says about its stream: [`StreamArg`].

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::ffi::c_void;
use core::marker::PhantomData;

use crate::device::Device;
use crate::error::Error;

/// The consumer's answer to "on which stream will you use the tensor?"
///
/// The numbers mean different things on different devices, so they are kept
/// as they came; a device's backend reads them. This follows the `stream`
/// argument of `__dlpack__` in the Python array API standard.
///
/// ```
/// use dlpack_traits::StreamArg;
///
/// assert!(StreamArg::unspecified().host().is_ok());
/// assert!(StreamArg::no_sync().host().is_err());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct StreamArg<'a> {
    says: Says,
    alive: PhantomData<&'a c_void>,
}

/// [`StreamKind`], and whether a handle lasts, in two words.
#[derive(Clone, Copy, Debug)]
enum Says {
    Unspecified,
    NoSync,
    WorkStream,
    OnHost,
    Handle(usize),
    Lasting(usize),
}

/// What a consumer can say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamKind {
    /// Nothing (`None`): the device's rule for its default stream applies.
    Unspecified,
    /// `-1`: the consumer asks the producer not to synchronise.
    NoSync,
    /// A sentinel or a handle, as the device defines it.
    Handle(usize),
    /// The stream that `current_work_stream` of the exchange table names: nothing
    /// has to be waited for, but work of other streams has to be ordered before it.
    WorkStream,
    /// The consumer is the processor: it reads the elements, or writes them,
    /// when the call returns. So whatever is pending has to be done by then.
    OnHost,
}

/// Where a consumer uses memory of a device.
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
    const fn new(says: Says) -> Self {
        Self { says, alive: PhantomData }
    }

    /// The consumer said nothing (`stream=None`).
    pub const fn unspecified() -> Self {
        Self::new(Says::Unspecified)
    }

    /// The consumer asks for no synchronisation (`stream=-1`).
    pub const fn no_sync() -> Self {
        Self::new(Says::NoSync)
    }

    /// The consumer is the processor. No value of `stream` says so: it is what a
    /// copy to the host means.
    pub const fn on_host() -> Self {
        Self::new(Says::OnHost)
    }

    /// The consumer has asked, or will ask, the exchange table for the stream on
    /// which it is to use the tensor.
    pub const fn work_stream() -> Self {
        Self::new(Says::WorkStream)
    }

    /// A sentinel (0, 1, 2 on some devices) or a stream handle.
    ///
    /// # Safety
    ///
    /// 1. `handle` is a sentinel of the tensor's device, or a stream of that
    ///    device that lives for `'a`. A sentinel for the default stream of a thread (2 on
    ///    CUDA) is passed on by that thread only.
    pub const unsafe fn from_handle(handle: usize) -> Self {
        Self::new(Says::Handle(handle))
    }

    /// Says that the stream will be there as long as the tensor: memory can then
    /// be freed in its order, where without that the whole device is waited for.
    ///
    /// # Safety
    ///
    /// 1. The handle names the stream until the deleter of every tensor that was
    ///    exported for it has been called.
    #[must_use]
    pub const unsafe fn lasting(self) -> Self {
        match self.says {
            Says::Handle(handle) => Self::new(Says::Lasting(handle)),
            _ => self,
        }
    }

    /// Whether the stream will be there as long as the tensor.
    pub(crate) const fn lasts(self) -> bool {
        matches!(self.says, Says::Lasting(_))
    }

    /// The consumer's place of work, without the name of its stream.
    #[inline]
    pub(crate) const fn place(self) -> ConsumerPlace {
        match self.says {
            Says::Unspecified => ConsumerPlace::DefaultStream,
            Says::OnHost => ConsumerPlace::Host,
            Says::NoSync | Says::WorkStream | Says::Handle(_) | Says::Lasting(_) => {
                ConsumerPlace::Stream
            }
        }
    }

    /// What the consumer said.
    #[inline]
    pub const fn kind(self) -> StreamKind {
        match self.says {
            Says::Unspecified => StreamKind::Unspecified,
            Says::NoSync => StreamKind::NoSync,
            Says::WorkStream => StreamKind::WorkStream,
            Says::OnHost => StreamKind::OnHost,
            Says::Handle(handle) | Says::Lasting(handle) => StreamKind::Handle(handle),
        }
    }

    /// The rule for host memory, where no stream works: a consumer cannot name one.
    ///
    /// # Errors
    ///
    /// [`Error::StreamOnHost`] for any other answer.
    #[inline]
    pub const fn host(self) -> Result<(), Error> {
        match self.says {
            Says::Unspecified | Says::WorkStream | Says::OnHost => Ok(()),
            Says::NoSync | Says::Handle(_) | Says::Lasting(_) => Err(Error::StreamOnHost),
        }
    }

    /// [`host`](Self::host) for memory without a [`Synchronize`]: it must be the
    /// host's. No one orders the work on any other memory.
    #[inline]
    pub(crate) const fn host_on(self, device: Device) -> Result<(), Error> {
        if device.is_host() { self.host() } else { Err(NOT_SYNCHRONIZED) }
    }
}

const NOT_SYNCHRONIZED: Error = Error::Custom(
    "the tensor is in memory of a device, and nothing synchronizes it with the consumer; \
     lend it from a `DeviceBuffer`, or add `DataRef::synchronized_by`",
);

/// Synchronizes pending work with a consumer: an event, a stream, a job.
///
/// It has two uses. A field with the role `sync` synchronizes work that fills the
/// memory and that the storage does not know of; an error there makes a stale value at
/// worst. [`DataRef::synchronized_by`](crate::DataRef::synchronized_by) makes it a part
/// of a loan of device memory, where it also decides when the memory may be freed;
/// that function is `unsafe`.
///
/// ```
/// use std::sync::mpsc::Receiver;
/// use std::sync::Mutex;
/// use dlpack_traits::{Error, StreamArg, Synchronize};
///
/// /// A thread that says when it has filled the buffer.
/// struct Filled(Mutex<Receiver<()>>);
///
/// impl Synchronize for Filled {
///     fn sync_for(&self, consumer: StreamArg<'_>) -> Result<(), Error> {
///         let done = self.0.lock().map_err(|_| Error::Custom("the filling thread panicked"))?;
///         // Disconnected: it was done when somebody asked before.
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
    /// Orders this work before what the consumer will do on its stream.
    ///
    /// # Errors
    ///
    /// Those of the device.
    fn sync_for(&self, consumer: StreamArg<'_>) -> Result<(), Error>;
}

/// Nothing to wait for is nothing to wait for.
impl<P: Synchronize> Synchronize for Option<P> {
    #[inline]
    fn sync_for(&self, consumer: StreamArg<'_>) -> Result<(), Error> {
        self.as_ref().map_or(Ok(()), |pending| pending.sync_for(consumer))
    }
}

/// Work behind a pointer can be waited for.
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
