//! Backends that copy between the device and the host: [`Memcpy`].

use core::marker::PhantomData;

use super::backend_trait::{Backend, MemcpyOf, WorkStream};
use super::memory::MemoryRef;
use crate::error::Error;

/// Copies between the device and the host, or within the device.
///
/// # Safety
///
/// 1. [`copy`](Self::copy) reads and writes no more than the bytes that it was called for,
///    in the order of the stream.
/// 2. If it returns [`Error::Unsupported`] or [`Error::SizeOverflow`], nothing was
///    enqueued. After another error the copy may still be pending, and the caller keeps the
///    memory of the host alive.
#[diagnostic::on_unimplemented(
    message = "the backend `{Self}` cannot copy to or from the host",
    label = "not a `Memcpy`",
    note = "implement `dlpack_traits::backend::Memcpy` for it; exporting needs none"
)]
pub unsafe trait Memcpy: Backend {
    /// Enqueues a copy of `byte_len` bytes, at least 1, on the stream. One of the places
    /// may be on [`Device::CPU`](crate::Device::CPU).
    ///
    /// # Errors
    ///
    /// Those of the runtime; [`Error::Unsupported`] for two places between which it cannot
    /// copy.
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
    ) -> Result<(), Error>;
}

impl<B: Memcpy> MemcpyOf<B> {
    /// The proof for a backend that implements the trait.
    pub const THIS: Self = Self { copy: B::copy, of: PhantomData };
}
