//! The optional traits of a backend, for memory: [`Allocator`], [`Memcpy`],
//! [`PointerAttributes`].

use core::ffi::c_void;
use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;

use super::blocking::run_blocking;
use super::{Backend, WorkStream};
use crate::device::Device;
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

/// Waits on the host for all work of the device.
pub(super) fn synchronize_device<B: Backend>(device: Device) -> Result<(), Error> {
    match B::SYNCHRONIZE_DEVICE {
        Some(synchronize) => run_blocking(|| synchronize(device)),
        None => Err(Error::StreamUntracked { device }),
    }
}

/// The location of bytes: an offset from an address, or into the object behind a handle.
#[derive(Clone, Copy, Debug)]
pub struct MemoryRef {
    /// The device.
    pub device: Device,
    /// First byte of the memory, or its handle on devices without addresses.
    pub data: *mut c_void,
    /// Offset of the bytes, in bytes.
    pub byte_offset: u64,
}

impl MemoryRef {
    /// The address of the bytes, on devices that have addresses.
    pub fn address(&self) -> *mut u8 {
        // The offset of a byte in memory fits `usize`.
        let byte_offset = usize::try_from(self.byte_offset).unwrap_or(usize::MAX);
        self.data.cast::<u8>().wrapping_add(byte_offset)
    }

    /// The handle of the object, and the offset of the bytes in it, on devices that have
    /// handles.
    #[cfg(feature = "opencl")]
    pub(super) fn in_object(&self) -> Result<(*mut c_void, usize), Error> {
        let byte_offset = usize::try_from(self.byte_offset).map_err(|_| Error::SizeOverflow)?;
        Ok((self.data, byte_offset))
    }
}

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
    /// may be on [`Device::CPU`].
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

/// The attributes of an address, as the runtime reports them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// The device type that the standard has for such memory, and its id.
    pub device: Device,
    /// Whether the processor may access the memory at the address.
    pub host_accessible: bool,
}

/// Looks up the device that an address or handle belongs to. A foreign struct names a
/// device too, but may be wrong.
///
/// # Safety
///
/// 1. The result of [`attributes`](Self::attributes) is right, for memory that is alive.
#[diagnostic::on_unimplemented(
    message = "the backend `{Self}` does not tell what is behind an address",
    label = "no `PointerAttributes`",
    note = "implement `dlpack_traits::backend::PointerAttributes` for it; exporting needs none"
)]
pub unsafe trait PointerAttributes: Backend {
    /// The attributes of `data`. The pointer is not dereferenced.
    ///
    /// # Errors
    ///
    /// [`Error::NoBackend`] with `hint` for memory that does not belong to the runtime, and
    /// those of the runtime.
    fn attributes(data: *const c_void, hint: Device) -> Result<Attributes, Error>;
}

/// The type of [`Allocator::deallocate`].
type Deallocate<B> = unsafe fn(&WorkStream<B>, NonNull<c_void>, usize) -> Result<(), Error>;

/// Defines a struct whose value proves that a backend implements an optional trait.
macro_rules! proof {
    ($(#[$doc:meta])* $name:ident: $bound:ident { $($field:ident: $type:ty),+ $(,)? }) => {
        $(#[$doc])*
        pub struct $name<B: Backend> {
            $(pub(super) $field: $type,)+
            of: PhantomData<fn() -> B>,
        }

        impl<B: $bound> $name<B> {
            /// The proof for a backend that implements the trait.
            pub const THIS: Self = Self { $($field: B::$field,)+ of: PhantomData };
        }

        impl<B: Backend> fmt::Debug for $name<B> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), "::THIS"))
            }
        }
    };
}

proof! {
    /// Proof that a backend implements [`Allocator`]: the value of [`Backend::ALLOCATOR`].
    AllocatorOf: Allocator {
        allocate: fn(&WorkStream<B>, usize) -> Result<NonNull<c_void>, Error>,
        deallocate: Deallocate<B>,
        deallocate_after_all: Deallocate<B>,
    }
}

proof! {
    /// Proof that a backend implements [`Memcpy`]: the value of [`Backend::MEMCPY`].
    MemcpyOf: Memcpy {
        copy: unsafe fn(&WorkStream<B>, MemoryRef, MemoryRef, usize) -> Result<(), Error>,
    }
}

proof! {
    /// Proof that a backend implements [`PointerAttributes`]: the value of
    /// [`Backend::ATTRIBUTES`].
    AttributesOf: PointerAttributes {
        attributes: fn(*const c_void, Device) -> Result<Attributes, Error>,
    }
}

#[cfg(test)]
mod tests {
    use core::ptr;

    use super::*;

    /// An offset is added to an address, and passed beside a handle, which is not an
    /// address.
    #[test]
    fn offsets_are_of_addresses_or_beside_handles() {
        let place = MemoryRef {
            device: Device::CPU,
            data: ptr::without_provenance_mut(64),
            byte_offset: 24,
        };
        assert_eq!(place.address().addr(), 88);
        #[cfg(feature = "opencl")]
        assert_eq!(place.in_object(), Ok((ptr::without_provenance_mut(64), 24)));
    }
}
