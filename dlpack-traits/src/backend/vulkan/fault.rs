//! Conversion of Vulkan's error codes.

use ash::prelude::VkResult;
use ash::vk;

use crate::device::Device;
use crate::error::Error;

/// Converts an error code, with the name of the call that failed.
pub(super) fn named<T>(
    device: Device,
    call: &'static str,
    outcome: VkResult<T>,
) -> Result<T, Error> {
    outcome.map_err(|code| Error::Device { device, call, code: code.as_raw() })
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
