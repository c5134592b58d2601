//! What a consumer says about its stream: [`StreamArg`].

use core::ffi::c_void;
use core::marker::PhantomData;

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
    kind: StreamKind,
    alive: PhantomData<&'a c_void>,
}

/// The three things that a consumer can say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamKind {
    /// Nothing (`None`): the device's rule for its default stream applies.
    Unspecified,
    /// `-1`: the consumer asks the producer not to synchronise.
    NoSync,
    /// A sentinel or a handle, as the device defines it.
    Handle(usize),
}

impl StreamArg<'_> {
    /// The consumer said nothing (`stream=None`).
    pub const fn unspecified() -> Self {
        Self { kind: StreamKind::Unspecified, alive: PhantomData }
    }

    /// The consumer asks for no synchronisation (`stream=-1`).
    pub const fn no_sync() -> Self {
        Self { kind: StreamKind::NoSync, alive: PhantomData }
    }

    /// A sentinel (0, 1, 2 on some devices) or a stream handle.
    ///
    /// # Safety
    ///
    /// 1. `handle` is a sentinel of the tensor's device, or a stream of that
    ///    device that lives for `'a`.
    pub const unsafe fn from_handle(handle: usize) -> Self {
        Self { kind: StreamKind::Handle(handle), alive: PhantomData }
    }

    /// What the consumer said.
    pub const fn kind(self) -> StreamKind {
        self.kind
    }

    /// The rule for host memory: nothing but "unspecified" makes sense there.
    ///
    /// # Errors
    ///
    /// [`Error::StreamOnHost`] for any other answer.
    #[inline]
    pub const fn host(self) -> Result<(), Error> {
        match self.kind {
            StreamKind::Unspecified => Ok(()),
            StreamKind::NoSync | StreamKind::Handle(_) => Err(Error::StreamOnHost),
        }
    }
}
