//! Conversions of Vulkan's error codes, and of its handles.

use alloc::string::ToString as _;

use ash::prelude::VkResult;
use ash::vk::{self, Handle};

use crate::backend::device_error;
use crate::device::Device;
use crate::error::Error;

/// Converts an error code, with the name of the call that failed.
pub(super) fn named<T>(
    device: Device,
    call: &'static str,
    outcome: VkResult<T>,
) -> Result<T, Error> {
    outcome.map_err(|code| device_error(device, call, code.as_raw().into(), &code.to_string()))
}

/// Like [`named`], for calls that allocate memory of that size.
pub(super) fn sized<T>(
    device: Device,
    call: &'static str,
    bytes: usize,
    outcome: VkResult<T>,
) -> Result<T, Error> {
    match outcome {
        Err(vk::Result::ERROR_OUT_OF_HOST_MEMORY | vk::Result::ERROR_OUT_OF_DEVICE_MEMORY) => {
            Err(Error::OutOfMemory { bytes })
        }
        outcome => named(device, call, outcome),
    }
}

/// Converts a handle of Vulkan into a number, if it fits.
pub(super) fn number(device: Device, handle: impl Handle) -> Result<usize, Error> {
    let what = "handle of 64 bits on a machine with shorter pointers";
    usize::try_from(handle.as_raw()).map_err(|_| Error::Unsupported { device, what })
}
