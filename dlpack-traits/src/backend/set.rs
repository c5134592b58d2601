//! Several backends as one type: [`Backends`].

use core::ffi::c_void;

use super::Prototype;
use crate::device::Device;
use crate::error::Error;
use crate::managed::ManagedTensor;

/// The devices that a class serves, as a type.
pub trait Backends: 'static {
    /// Allocates a zeroed tensor, aligned to 64 bytes or better.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`], [`Error::NoBackend`] for a device that none of
    /// them serves, and those of the device.
    fn allocate(prototype: &Prototype<'_>) -> Result<ManagedTensor, Error>;

    /// The stream that work for the device is launched on now; NULL on the host.
    ///
    /// # Errors
    ///
    /// [`Error::NoBackend`], and those of the device.
    fn current_work_stream(device: Device) -> Result<*mut c_void, Error>;
}
