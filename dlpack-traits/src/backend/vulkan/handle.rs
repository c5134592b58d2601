//! The handles of Vulkan as numbers: [`number`].

use ash::vk::Handle;

use crate::device::Device;
use crate::error::Error;

/// Converts a handle of Vulkan into a number, if it fits.
pub(super) fn number(device: Device, handle: impl Handle) -> Result<usize, Error> {
    let what = "handle of 64 bits on a machine with shorter pointers";
    usize::try_from(handle.as_raw()).map_err(|_| Error::Unsupported { device, what })
}
