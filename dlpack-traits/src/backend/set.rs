//! Several backends as one type: [`Backends`].

use core::ffi::c_void;

use super::memory::{Attributes, Place};
use super::{Backend, DeviceBuffer, Prototype, WorkStream};
use crate::device::Device;
use crate::error::Error;
use crate::export::compact_managed;
use crate::managed::ManagedTensor;
use crate::storage::SharedOwner;
use crate::stream::StreamArg;

/// The devices that a class serves, as a type: a [`Backend`], or a tuple of
/// sets. A device is served by the first that says so.
///
/// ```
/// use dlpack_traits::backend::{Backends, Cpu};
/// use dlpack_traits::Device;
///
/// assert!(<(Cpu,)>::serves(Device::CPU));
/// assert!(!<(Cpu,)>::serves(Device::cuda(0)));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no set of backends",
    label = "neither a backend nor a tuple of them",
    note = "name `dlpack_traits::backend::Cpu`, a type that implements `Backend`, or a tuple of up to 8"
)]
pub trait Backends: 'static {
    /// Whether the device is of a kind that this serves. It need not exist.
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

    /// The stream that work for the device is launched on now; NULL on the host.
    ///
    /// # Errors
    ///
    /// [`Error::NoBackend`], and those of the device.
    fn current_work_stream(device: Device) -> Result<*mut c_void, Error>;

    /// Copies bytes of a device to the host, when the work that fills them is
    /// done: `order` orders that work before the stream that it is given.
    ///
    /// # Errors
    ///
    /// [`Error::NoBackend`], [`Error::Unsupported`], those of `order`, and those
    /// of the device.
    ///
    /// # Safety
    ///
    /// 1. After the work that `order` is about, `from` has as many bytes as `to`,
    ///    until the call returns.
    unsafe fn copy_to_host(order: Order<'_>, from: Place, to: &mut [u8]) -> Result<(), Error> {
        let _ = (order, to);
        Err(Error::NoBackend { device: from.device })
    }

    /// What the runtime that serves `hint` knows of an address or handle.
    ///
    /// # Errors
    ///
    /// [`Error::NoBackend`], [`Error::Unsupported`], and those of the device.
    fn attributes(data: *const c_void, hint: Device) -> Result<Attributes, Error> {
        let _ = data;
        Err(Error::NoBackend { device: hint })
    }
}

/// Orders the work that fills a tensor before a consumer:
/// [`hand_off`](crate::DLPackExport::hand_off) of that tensor.
pub type Order<'a> = &'a dyn Fn(StreamArg<'_>) -> Result<(), Error>;

/// A backend is a set of one.
#[diagnostic::do_not_recommend]
impl<B: Backend> Backends for B {
    fn serves(device: Device) -> bool {
        B::DEVICE_TYPES.contains(&device.device_type())
    }

    fn allocate(prototype: &Prototype<'_>) -> Result<ManagedTensor, Error> {
        let device = served::<B>(prototype.device())?;
        let allocator = B::ALLOCATOR.ok_or(Error::Unsupported { device, what: "allocator" })?;
        let stream = B::current_stream(device)?;
        let (dtype, byte_len) = (prototype.dtype(), prototype.byte_len());
        let buffer = DeviceBuffer::allocated(allocator, stream, dtype, byte_len)?;
        let owner = SharedOwner::new(buffer).ok_or(Error::OutOfMemory { bytes: byte_len })?;
        compact_managed(owner, prototype.shape())
    }

    fn current_work_stream(device: Device) -> Result<*mut c_void, Error> {
        Ok(B::current_stream(served::<B>(device)?)?.handle().as_ptr())
    }

    unsafe fn copy_to_host(order: Order<'_>, from: Place, to: &mut [u8]) -> Result<(), Error> {
        let device = served::<B>(from.device)?;
        let memcpy = B::MEMCPY.ok_or(Error::Unsupported { device, what: "copy to the host" })?;
        let stream = WorkStream::<B>::current(device)?;
        order(stream.as_arg())?;
        let data = to.as_mut_ptr().cast();
        let host = Place { device: Device::CPU, data, byte_offset: 0 };
        if !to.is_empty() {
            // SAFETY: 1. By 1 `from` has the bytes when the stream comes to the
            // copy; `to` has as many, and both stay until the copy is done, which
            // is waited for.
            unsafe { (memcpy.copy)(&stream, from, host, to.len()) }?;
        }
        stream.synchronize()
    }

    fn attributes(data: *const c_void, hint: Device) -> Result<Attributes, Error> {
        let device = served::<B>(hint)?;
        let known =
            B::ATTRIBUTES.ok_or(Error::Unsupported { device, what: "pointer attributes" })?;
        (known.attributes)(data, hint)
    }
}

/// The device, if it is of a kind that the backend serves.
fn served<B: Backend>(device: Device) -> Result<Device, Error> {
    if B::serves(device) { Ok(device) } else { Err(Error::NoBackend { device }) }
}

/// The first set that serves the device answers.
macro_rules! tuples {
    ($($set:ident)+) => {
        impl<$($set: Backends),+> Backends for ($($set,)+) {
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

            unsafe fn copy_to_host(
                order: Order<'_>,
                from: Place,
                to: &mut [u8],
            ) -> Result<(), Error> {
                $(if $set::serves(from.device) {
                    // SAFETY: 1. By 1.
                    return unsafe { $set::copy_to_host(order, from, to) };
                })+
                Err(Error::NoBackend { device: from.device })
            }

            fn attributes(data: *const c_void, hint: Device) -> Result<Attributes, Error> {
                $(if $set::serves(hint) {
                    return $set::attributes(data, hint);
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
