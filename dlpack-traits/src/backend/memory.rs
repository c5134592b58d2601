//! A location in memory, and the attributes of one: [`MemoryRef`], [`Attributes`].

use core::ffi::c_void;

use crate::device::Device;
#[cfg(feature = "opencl")]
use crate::error::Error;
use crate::import::ImportedTensor;

/// The location of bytes: an offset from an address, or into the object behind a handle.
///
/// A kernel for a device with addresses takes [`address`](Self::address). One for a device with
/// handles takes `data` and `byte_offset`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryRef {
    /// The device.
    pub device: Device,
    /// First byte of the memory, or its handle on devices without addresses.
    pub data: *mut c_void,
    /// Offset of the bytes, in bytes.
    pub byte_offset: u64,
}

impl MemoryRef {
    /// The location of the first element of a tensor.
    pub(crate) fn of_first_element(tensor: &ImportedTensor) -> Self {
        let data = tensor.data_ptr().cast_mut().cast();
        Self { device: tensor.device(), data, byte_offset: tensor.byte_offset() }
    }

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

/// The attributes of an address, as the runtime reports them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// The device type that the standard has for such memory, and its id.
    pub device: Device,
    /// Whether the processor may access the memory at the address.
    pub host_accessible: bool,
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
