//! Backends that allocate: [`Allocator`].

use core::ffi::c_void;
use core::marker::PhantomData;
use core::ptr::NonNull;

use super::backend_trait::{AllocatorOf, Backend, WorkStream};
use super::blocking::synchronize_device;
use crate::error::Error;

/// Allocates and frees memory of the device, in the order of its streams.
///
/// # Safety
///
/// 1. [`allocate`](Self::allocate) returns `byte_len` bytes of the stream's device, aligned
///    to 64 bytes or better, or the handle of an object with as many. No one else uses them
///    until [`deallocate`](Self::deallocate).
/// 2. Work that is enqueued on the stream after `allocate` finds zeros in them, and so does
///    work that is ordered after such work.
/// 3. `deallocate` keeps them until all work is done that was enqueued on its stream
///    before, [`deallocate_after_all`](Self::deallocate_after_all) until all work of the
///    device is done. Any thread may call them.
/// 4. If the processor can follow their address, `deallocate` has waited for that work by
///    the time the processor may be given them again: an allocator of the host takes no
///    part in the order of streams.
#[diagnostic::on_unimplemented(
    message = "the backend `{Self}` cannot allocate",
    label = "not an `Allocator`",
    note = "implement `dlpack_traits::backend::Allocator` for it; exporting needs none"
)]
pub unsafe trait Allocator: Backend {
    /// Allocates zeroed memory, for work on the stream. `byte_len` is at least 1.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`], and those of the runtime.
    fn allocate(stream: &WorkStream<Self>, byte_len: usize) -> Result<NonNull<c_void>, Error>;

    /// Frees memory after the work on the stream. It does not wait on the host if the
    /// runtime can free in the order of the stream.
    ///
    /// # Errors
    ///
    /// Those of the runtime. The memory is then leaked.
    ///
    /// # Safety
    ///
    /// 1. `data` came from `allocate` with the same device and `byte_len`, and was
    ///    not freed.
    /// 2. All work on it is done, or ordered before what is now enqueued on the
    ///    stream.
    unsafe fn deallocate(
        stream: &WorkStream<Self>,
        data: NonNull<c_void>,
        byte_len: usize,
    ) -> Result<(), Error>;

    /// Frees memory that a consumer may use on any stream, after the work on all of them.
    /// By default the host waits for the device.
    ///
    /// # Errors
    ///
    /// Those of the runtime. The memory is then leaked.
    ///
    /// # Safety
    ///
    /// 1. `data` came from `allocate` with the same device and `byte_len`, and was
    ///    not freed.
    /// 2. All work on it is done, or enqueued on some stream of the device.
    unsafe fn deallocate_after_all(
        stream: &WorkStream<Self>,
        data: NonNull<c_void>,
        byte_len: usize,
    ) -> Result<(), Error> {
        synchronize_device::<Self>(stream.device())?;
        // SAFETY: 1. By our caller's 1. 2. By our caller's 2, and 4 of `Backend`, all work
        // on it is done.
        unsafe { Self::deallocate(stream, data, byte_len) }
    }
}

impl<B: Allocator> AllocatorOf<B> {
    /// The proof for a backend that implements the trait.
    pub const THIS: Self = Self {
        allocate: B::allocate,
        deallocate: B::deallocate,
        deallocate_after_all: B::deallocate_after_all,
        of: PhantomData,
    };
}
