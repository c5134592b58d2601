//! Ordinary memory: [`Cpu`].

use core::ffi::c_void;

use super::{Backends, Prototype};
use crate::device::Device;
use crate::error::Error;
use crate::export::zeroed_managed;
use crate::managed::ManagedTensor;

/// Ordinary memory of the host. It has no streams: work on it is done when the
/// call returns.
#[derive(Clone, Copy, Debug)]
pub struct Cpu;

impl Backends for Cpu {
    fn allocate(prototype: &Prototype<'_>) -> Result<ManagedTensor, Error> {
        let device = prototype.device();
        if device != Device::CPU {
            return Err(Error::NoBackend { device });
        }
        zeroed_managed(prototype.dtype(), prototype.shape(), prototype.byte_len())
    }

    fn current_work_stream(device: Device) -> Result<*mut c_void, Error> {
        if device == Device::CPU {
            Ok(core::ptr::null_mut())
        } else {
            Err(Error::NoBackend { device })
        }
    }
}
